// Owns: the tools and commands of runs on a real Slurm cluster, one process after the other: what each leaves, the next goes on with.
// Refuses: what the backend does by itself; its own tests look at that.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { SlurmCluster } from '../../scripts/engines/slurm.ts';
import { withSlurm } from '../../scripts/engines/with-slurm.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import { openLines } from '../support/mcp-lines.ts';
import { haft, startHaft } from './support/haft.ts';
import { stepsPack } from './support/steps-pack.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const slurm = withSlurm();

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the tool says
type Data = any;

describe('runs on a cluster, from one process to the next', { skip: slurm.skip }, () => {
  let workspace: Workspace;
  let cluster: SlurmCluster;
  const tell = (program: string, ...args: readonly string[]) =>
    promisify(execFile)(program, args, { env: { ...process.env, ...cluster.env } });
  const run = (...args: readonly string[]) => haft(args, { cwd: workspace.root });
  const call = async (tool: string, args: JsonObject) => {
    const { stdout, stderr } = await run('call', tool, JSON.stringify(args), '--json');
    assert.notEqual(stdout, '', stderr);
    return { ...JSON.parse(stdout), stderr };
  };
  const submit = async (how: string, word: string) => {
    const response = await call('slurm_submit', { tool: 'steps', args: { how, word } });
    assert.ok(response.ok, JSON.stringify(response.errors) + response.stderr);
    return response.data;
  };
  const until = async (run_id: string, is: (data: Data) => boolean) => {
    for (;;) {
      const { data, errors, stderr } = await call('slurm_job_get', { run_id });
      assert.ok(data, JSON.stringify(errors) + stderr);
      if (is(data)) return data;
    }
  };

  before(async () => {
    cluster = await slurm.engine();
    const { SLURM_CONF } = cluster.env;
    const policy = `runs:\n  backends: [slurm]\n  slurm: { conf: "${SLURM_CONF}" }\n`;
    workspace = makeWorkspace(stepsPack(policy));
  });
  after(() => workspace?.remove());

  it('submits and ends; the job goes on, and others look at it, finish it and collect', async () => {
    const data = await submit('count', 'c');
    assert.deepEqual([data.replayed, data.attempt.backend], [false, 'slurm']);
    assert.match(data.job.id, /^\d+$/);
    const { run_id } = data;
    const done = await until(run_id, ({ state }) => state === 'succeeded');
    assert.deepEqual([done.attempts, done.attempt.exit_code, done.job], [1, 0, null]);
    const { data: collected } = await call('slurm_job_collect', { run_id });
    const read = await call('artifact_get', { artifact: collected.outputs[0].artifact_id });
    assert.equal(read.data.content, 'c\n');
    const log = await call('artifact_get', { artifact: collected.outputs[1].artifact_id });
    assert.equal(log.data.content, 'step 1\nstep 2\nstep 3\nstep 4\nstep 5\n');
    assert.equal((await submit('count', 'c')).replayed, true);
    const shown = await run('runs', 'show', run_id);
    assert.match(shown.stdout, /slurm .* succeeded \(exit code 0/);
    assert.equal((await run('runs', 'collect', run_id, '--to', 'got')).status, 0);
    assert.ok(existsSync(workspace.path('got/answer.txt')));
  });

  it('says that a job waits, and why; and cancels it there', async () => {
    const nodes = (await tell('sinfo', '--noheader', '--format=%N')).stdout.trim();
    await tell('scontrol', 'update', `nodename=${nodes}`, 'state=drain', 'reason=test');
    try {
      const { run_id } = await submit('wait', 'queued');
      const waiting = await until(run_id, ({ job }) => job?.reason !== undefined);
      assert.deepEqual(
        [waiting.state, waiting.job.state, waiting.job.phase],
        ['queued', 'PENDING', 'queued'],
      );
      assert.match(
        (await run('runs', 'show', run_id)).stdout,
        /job\n id +\d+\n state +PENDING\n reason +\w+/,
      );
      const cancelled = await call('slurm_job_cancel', { run_id });
      assert.equal(cancelled.data?.state, 'cancelled', JSON.stringify(cancelled.errors));
      assert.equal((await tell('squeue', '--noheader', '--states=PENDING,RUNNING')).stdout, '');
    } finally {
      await tell('scontrol', 'update', `nodename=${nodes}`, 'state=resume');
    }
  });

  it('is watched by another process, which goes away and leaves it running, and cancelled by a third', async () => {
    const { run_id } = await submit('wait', 'watched');
    const watcher = startHaft(['runs', 'watch', run_id], { cwd: workspace.root });
    watcher.stdout.once('data', () => watcher.kill('SIGINT'));
    let said = '';
    watcher.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [status] = await once(watcher, 'close');
    assert.equal(status, 130);
    assert.match(said, /^haft: job \d+ is (PENDING|RUNNING)/);
    const { job } = await until(run_id, (data) => data.job !== null);
    assert.equal(job.state, 'RUNNING');
    const { status: exit, stdout } = await run('runs', 'cancel', run_id);
    assert.deepEqual([exit, /attempt 1 cancelled/.test(stdout)], [0, true], stdout);
    const after = await until(run_id, ({ state }) => state === 'cancelled');
    assert.equal(after.attempts, 1);
  });

  it('is finished by whoever watches it, and its end is told', async () => {
    const { run_id } = await submit('count', 'finished');
    const { status, stdout, stderr } = await run('runs', 'watch', run_id);
    assert.deepEqual([status, stdout.endsWith('step 5\n')], [0, true], stderr);
    assert.match(stderr, /attempt 1 succeeded/);
    const failed = await submit('fail', 'f');
    assert.equal((await run('runs', 'watch', failed.run_id)).status, 6);
  });

  it('is submitted over MCP by a server that goes on with it, and left to the cluster when that hangs up', async () => {
    const lines = openLines(workspace.root);
    let id = 0;
    const ask = async (method: string, params: JsonObject): Promise<Data> => {
      lines.send(JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }));
      for (;;) {
        const answer = await lines.next();
        if (answer.id === id) return answer.result;
      }
    };
    const tool = async (name: string, args: JsonObject): Promise<Data> => {
      const { content, isError } = await ask('tools/call', { name, arguments: args });
      assert.ok(!isError, JSON.stringify(content));
      return JSON.parse(content[0].text);
    };
    const clientInfo = { name: 'test', version: '1.0.0' };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    lines.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    const { run_id } = await tool('slurm_submit', { tool: 'steps', args: { how: 'count', word: 'mcp' } });
    while ((await tool('slurm_job_get', { run_id })).state !== 'succeeded');
    const { outputs } = await tool('slurm_job_collect', { run_id });
    assert.equal(outputs.length, 2);
    const left = await tool('slurm_submit', { tool: 'steps', args: { how: 'wait', word: 'mcp' } });
    assert.equal(await lines.end(), 0);
    await until(left.run_id, ({ job }) => job?.state === 'RUNNING');
    assert.equal((await call('slurm_job_cancel', { run_id: left.run_id })).data.state, 'cancelled');
  });

  it('waits where policy lets no more jobs in, and is submitted by who watches it', async () => {
    const { SLURM_CONF } = cluster.env;
    const policy = `runs:\n  backends: [slurm]\n  slurm: { conf: "${SLURM_CONF}", max_jobs: 1 }\n`;
    const bounded = makeWorkspace(stepsPack(policy));
    const command = async (...args: readonly string[]) => haft([...args, '--json'], { cwd: bounded.root });
    const submitted = async (how: string) => {
      const args = JSON.stringify({ tool: 'steps', args: { how, word: 'bounded' } });
      const { data, errors } = JSON.parse((await command('call', 'slurm_submit', args)).stdout);
      assert.ok(data, JSON.stringify(errors));
      return data;
    };
    try {
      const first = await submitted('wait');
      const second = await submitted('ok');
      assert.deepEqual([first.job !== null, second.job], [true, null]);
      assert.equal((await command('runs', 'cancel', first.run_id)).status, 0);
      const watched = await command('runs', 'watch', second.run_id);
      assert.deepEqual([watched.status, JSON.parse(watched.stdout).state], [0, 'succeeded'], watched.stderr);
    } finally {
      bounded.remove();
    }
  });
});
