// Owns: `haft runs` as a person meets it: list, show, watch, collect, cancel, retry, verify and explain, on runs of a real toolpack.
// Refuses: engines; what is said of a run is the same on each.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { runForTests } from '../../src/hosts/cli/run-for-tests.ts';
import { createRuntime, ERRORS } from '../../src/index.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft, startHaft } from './support/haft.ts';
import { stepsPack } from './support/steps-pack.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const short = (runId: string) => runId.slice(0, 12);

describe('haft runs verify', () => {
  it('names what changed where the same call is another run by now, executes nothing, and says what to do', async () => {
    const workspace = makeWorkspace(stepsPack());
    const { root, path } = workspace;
    try {
      const made = await cliJson(root, 'call', 'steps', JSON.stringify({ how: 'ok', word: 'one' }));
      const runId = made.document.run_id;
      const before = readFileSync(path('steps/toolpack.ts'), 'utf8');
      writeFileSync(path('steps/toolpack.ts'), before.replace('echo "made $2"', 'echo "MADE $2"'));
      const told = await cli(root, 'runs', 'verify', runId);
      assert.equal(told.status, ERRORS['run.changed'].exit, told.stderr);
      assert.equal(told.status, 2);
      assert.match(told.stderr, /this changed: .*toolpack's code.*haft runs retry.*run\.changed/s);
      const named = new Set(told.stderr.match(/run_[0-9a-f]+/g));
      assert.deepEqual([...named], [runId], 'only runs that there are');
      const { document } = await cliJson(root, 'runs', 'verify', runId);
      assert.ok(
        document.errors[0].details.differences.some(({ field }: { field: string }) =>
          field.startsWith("toolpack's code"),
        ),
      );
      assert.equal((await cliJson(root, 'runs', 'show', runId)).document.attempts.length, 1, 'none was made');

      const retried = await cliJson(root, 'runs', 'retry', runId);
      assert.notEqual(retried.document.run_id, runId);
      assert.equal((await cli(root, 'runs', 'verify', retried.document.run_id)).status, 0);
      writeFileSync(path('steps/toolpack.ts'), before);
      const again = await cli(root, 'runs', 'verify', runId);
      assert.equal(again.status, 0, again.stderr);
    } finally {
      workspace.remove();
    }
  });
});

describe('haft runs', () => {
  let workspace: Workspace;
  const ids: Record<string, string> = {};
  const started: ReturnType<typeof startHaft>[] = [];
  const start = (...argv: readonly string[]) => {
    const child = startHaft(argv, { cwd: workspace.root });
    started.push(child);
    return child;
  };
  const run = (...argv: readonly string[]) => cli(workspace.root, 'runs', ...argv);
  const json = (...argv: readonly string[]) => cliJson(workspace.root, 'runs', ...argv);
  /** The id of a run that no test has met yet, once there is one. */
  const newRun = async (): Promise<string> => {
    for (;;) {
      const { document } = await json('list', '--limit', '1');
      const { run_id } = document.runs[0];
      if (!Object.values(ids).includes(run_id)) {
        ids[run_id] = run_id;
        return run_id;
      }
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  };
  before(async () => {
    workspace = makeWorkspace(stepsPack());
    const runtime = await createRuntime({ workspace: workspace.root });
    for (const [how, word] of [
      ['ok', 'one'],
      ['ok', 'two'],
      ['fail', 'three'],
      ['random', 'four'],
    ]) {
      const { runId } = await runtime.call({ tool: 'steps', args: { how: how!, word: word! } });
      ids[word!] = runId!;
    }
    await runtime.close();
  });
  after(() => {
    for (const child of started) child.kill('SIGKILL');
    workspace.remove();
  });

  it('list shows the newest first, by tool, status, backend and time', async () => {
    const { stdout, stderr } = await run('list');
    assert.equal(stderr, '');
    const lines = stdout.trim().split('\n');
    assert.match(lines[0]!, /^RUN +CREATED +TOOL +STATUS +BACKEND +ATTEMPTS +MESSAGE$/);
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(' ')[0]),
      ['four', 'three', 'two', 'one'].map((word) => ids[word]),
    );
    const listed = async (...argv: readonly string[]) =>
      (await json('list', ...argv)).document.runs.map(({ run_id }: { run_id: string }) => run_id);
    assert.deepEqual(await listed('--status', 'failed'), [ids.three]);
    assert.deepEqual(await listed('--tool', 'steps', '--limit', '1'), [ids.four]);
    assert.deepEqual(await listed('--backend', 'slurm'), []);
    assert.equal((await listed('--since', '1h', '--backend', 'local')).length, 4);
    assert.deepEqual(await listed('--since', '2999-01-01'), []);
    assert.equal((await run('list', '--tool', 'none')).stdout, 'No run matches.\n');
    const wrong = await run('list', '--status', 'faild');
    assert.deepEqual([wrong.status, /did you mean "failed"/.test(wrong.stderr)], [2, true]);
    const nowhere = await run('list', '--backend', 'dokcer');
    assert.deepEqual(
      [nowhere.status, /no backend "dokcer"; did you mean "docker"/.test(nowhere.stderr)],
      [2, true],
    );
    for (const when of ['yesterday', '2026-13-45', '2026-02-30', '2026-01-01T99:00:00Z', '12', '12y']) {
      const never = await run('list', '--since', when);
      assert.deepEqual([never.status, /12h, 30d or 8w, or a date/.test(never.stderr)], [2, true], when);
    }
  });

  it('show tells attempts, outputs and what was observed, of a run named by a few digits', async () => {
    const { stdout } = await run('show', short(ids.one!));
    for (const sought of [ids.one!, 'steps (contract v1)', 'succeeded (exit code 0', 'Answer (text/plain)'])
      assert.ok(stdout.includes(sought), `${sought} in\n${stdout}`);
    assert.match(stdout, /observed in attempt 1\n[\s\S]*interfaces +\["lo"\]/);
    const { document } = await json('show', ids.three!);
    assert.equal(document.attempts[0].cause, 'tool.exit');
    assert.deepEqual([document.state, document.result, document.job], ['failed', null, null]);
    assert.deepEqual(document.args, { how: 'fail', word: 'three' });
    const unknown = await run('show', 'run_ffffffffffffffff');
    assert.deepEqual([unknown.status, /run\.unknown/.test(unknown.stderr)], [2, true]);
    assert.match((await run('show', 'run_')).stderr, /the first few are enough/);
  });

  it('watch prints the log of one that ended, and its end is the exit code', async () => {
    const good = await haft(['runs', 'watch', ids.one!], { cwd: workspace.root });
    assert.deepEqual([good.status, good.stdout], [0, 'made one\n'], good.stderr);
    assert.match(good.stderr, /attempt 1 succeeded/);
    const bad = await haft(['runs', 'watch', ids.three!], { cwd: workspace.root });
    assert.deepEqual([bad.status, bad.stdout], [6, 'no three\n']);
    assert.match(bad.stderr, /attempt 1 failed \(tool\.exit, exit code 3/);
    const { document } = await json('watch', ids.one!);
    assert.deepEqual([document.state, document.run_id], ['succeeded', ids.one]);
  });

  it('watch follows a run of another process to its end', async () => {
    const caller = start('call', 'steps', '{"how":"count","word":"c"}');
    const answered = once(caller, 'close');
    const follower = await haft(['runs', 'watch', await newRun()], { cwd: workspace.root });
    assert.equal(follower.stdout, 'step 1\nstep 2\nstep 3\nstep 4\nstep 5\n');
    assert.equal(follower.status, 0);
    assert.equal((await answered)[0], 0);
  });

  it('watch leaves a run going at Ctrl-C, and cancel ends it, whichever process conducts it', async () => {
    const caller = start('call', 'steps', '{"how":"wait","word":"w"}');
    const answered = once(caller, 'close');
    const runId = await newRun();
    const watcher = start('runs', 'watch', runId);
    watcher.stdout.once('data', () => watcher.kill('SIGINT'));
    let said = '';
    watcher.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [status] = await once(watcher, 'close');
    assert.equal(status, 130, said);
    assert.match(said, /stopped watching; the run goes on/);
    assert.equal((await json('show', runId)).document.state, 'running');
    const early = await run('collect', runId, '--to', workspace.path('early'));
    assert.equal(early.status, 2, early.stderr);
    assert.match(early.stderr, /is running.*\(see haft runs watch\) \[E_VALIDATION_FAIL run\.state\]/);
    assert.equal(existsSync(workspace.path('early')), false);
    const { document } = await json('cancel', short(runId));
    assert.deepEqual(
      document.attempts.map(({ state, cause }: Record<string, string>) => [state, cause]),
      [['cancelled', 'cancelled']],
    );
    assert.equal((await answered)[0], 130);
    assert.match((await run('cancel', runId)).stdout, /^Nothing of run_\w+ is under way/);
    assert.equal((await run('collect', runId, '--to', workspace.path('none'))).status, 130);
  });

  it('retry answers by the result of what succeeded, and tries again what failed', async () => {
    assert.equal((await run('retry', ids.one!)).stdout, `${ids.one}  answered by its result\n`);
    assert.equal((await json('retry', ids.one!)).document.replayed, true);
    const failed = await run('retry', ids.three!);
    assert.deepEqual([failed.status, /run\.failed/.test(failed.stderr)], [6, true]);
    assert.equal((await json('show', ids.three!)).document.attempts.length, 2);
  });

  it('verify says identical, or which output differs', async () => {
    const same = await run('verify', ids.one!);
    assert.deepEqual([same.status, same.stderr], [0, '']);
    assert.match(same.stdout, /^answer +identical +sha256:/);
    const other = await run('verify', ids.four!);
    assert.equal(other.status, 1);
    assert.match(other.stdout, /^answer +differs/);
    assert.match(other.stderr, /made another "answer".*run\.differs/);
    const { status, document } = await json('verify', ids.four!);
    assert.deepEqual([status, document.identical, document.outputs[0].same], [1, false, false]);
    assert.match((await run('verify', ids.three!)).stderr, /it has not succeeded/);
    const elsewhere = await run('verify', ids.one!, '--backend', 'docker');
    assert.deepEqual([elsewhere.status, /policy grants local/.test(elsewhere.stderr)], [3, true]);
    assert.equal((await run('verify', ids.one!, '--backend', 'local')).status, 0);
  });

  it('explain names the fields in which two runs differ', async () => {
    const { stdout } = await run('explain', ids.one!, short(ids.two!));
    assert.match(stdout, /differ in 2 fields:\n {2}argument 5: one in the first, two in the second\n/);
    assert.match(stdout, /parameter word: one in the first, two in the second\n/);
    assert.equal((await run('explain', ids.one!, ids.one!)).stdout, 'They are the same run.\n');
    const { document } = await json('explain', ids.one!);
    assert.equal(document.a, ids.one);
    assert.notEqual(document.b, ids.one);
  });

  it('collect writes verified outputs where one says, never over anything, all or nothing', async () => {
    mkdirSync(workspace.path('some'));
    const to = workspace.path('some/where');
    const { document } = await json('collect', ids.one!, '--to', to);
    assert.equal(readFileSync(`${to}/answer.txt`, 'utf8'), 'one\n');
    assert.equal(readFileSync(`${to}/log`, 'utf8'), 'made one\n');
    assert.deepEqual(
      document.outputs.map(({ role, file }: Record<string, string>) => [role, file]),
      [
        ['answer', `${to}/answer.txt`],
        ['log', `${to}/log`],
      ],
    );
    assert.equal((await run('collect', ids.two!, '--to', to)).status, 5);
    assert.equal(readFileSync(`${to}/answer.txt`, 'utf8'), 'one\n');
    writeFileSync(workspace.path('file'), 'mine');
    assert.equal((await run('collect', ids.two!, '--to', workspace.path('file'))).status, 5);
    assert.equal(readFileSync(workspace.path('file'), 'utf8'), 'mine');
    mkdirSync(workspace.path('empty'));
    assert.equal((await run('collect', ids.two!, '--to', workspace.path('empty'))).status, 0);
    assert.equal((await run('collect', ids.three!, '--to', workspace.path('failed'))).status, 6);
    assert.equal((await run('collect', ids.one!)).status, 2);
    assert.ok(!existsSync(workspace.path('failed')));
    assert.deepEqual(
      readdirSync(workspace.root).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  it('collect refuses an output whose bytes are not what they were', async () => {
    const { document } = await json('show', ids.two!);
    const { artifact } = document.attempts[0].outputs[0];
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const database = new DatabaseSync(workspace.path('.haft/haft.db'), { timeout: 5_000 });
    database.exec(`DELETE FROM small_objects WHERE sha256 = x'${artifact.slice(7)}'`);
    database.close();
    const { status, stderr } = await run('collect', ids.two!, '--to', workspace.path('damaged'));
    assert.notEqual(status, 0);
    assert.match(stderr, /object\.(missing|corrupt)/);
    assert.ok(!existsSync(workspace.path('damaged')));
  });

  it('is known to completion, and every command to help', async () => {
    const offered = async (...typed: string[]) => {
      const { out } = await runForTests(['completion', 'words', '--', ...typed]);
      return out.split('\n').map((line) => line.split('\t')[0]);
    };
    const words = await offered('runs', '');
    for (const word of ['list', 'show', 'watch', 'collect', 'cancel', 'retry', 'verify', 'explain']) {
      assert.ok(words.includes(word), word);
      const help = (await run(word, '--help')).stdout;
      assert.match(help, /examples:\n {2}haft runs/);
    }
    assert.deepEqual((await offered('runs', 'list', '--')).slice(0, 5), [
      '--tool',
      '--status',
      '--backend',
      '--since',
      '--limit',
    ]);
  });
});
