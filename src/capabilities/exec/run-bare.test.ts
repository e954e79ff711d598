import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { runBareProgram, startBareProgram } from './run-bare.ts';

const env = { PATH: '/usr/bin:/bin' };
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
/** The kill is sent when the program is said to have ended; whoever it is sent to takes a moment to go. */
async function untilGone(pid: number): Promise<void> {
  assert.ok(pid > 0);
  while (!isGone(pid)) await new Promise((resolve) => setImmediate(resolve));
}

const isGone = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return true;
  }
};

describe('a program without a sandbox', () => {
  it('has its input, its environment and nothing else, and says how it ended', async () => {
    const argv = ['sh', '-c', 'cat; env | grep -c SECRET; echo err >&2; exit 3'] as const;
    process.env.SECRET = 'x';
    const result = await runBareProgram(tmpdir(), { argv, env, stdin: 'in\n' });
    delete process.env.SECRET;
    assert.deepEqual([text(result.stdout), text(result.stderr), result.code], ['in\n0\n', 'err\n', 3]);
  });

  it('is ended with its whole group: by time, by its signal, by its output, or when it ends itself', async () => {
    const argv = ['sh', '-c', 'sleep 100 & echo $!; wait'] as const;
    const timed = await runBareProgram(tmpdir(), { argv, env, timeoutMs: 100 });
    assert.equal(timed.timedOut, true);
    await untilGone(Number(text(timed.stdout)));
    const controller = new AbortController();
    const onOutput = () => controller.abort();
    const aborted = await runBareProgram(tmpdir(), { argv, env, signal: controller.signal, onOutput });
    assert.equal(aborted.aborted, true);
    await untilGone(Number(text(aborted.stdout)));
    const loud = await runBareProgram(tmpdir(), { argv: ['yes'], env, limits: { outputBytes: 1000 } });
    assert.equal(loud.limitHit, 'output');
    const left = await runBareProgram(tmpdir(), { argv: ['sh', '-c', 'sleep 100 >&- 2>&- & echo $!'], env });
    await untilGone(Number(text(left.stdout)));
  });

  it('says when it cannot be started', async () => {
    const result = await startBareProgram(tmpdir(), { argv: ['no-such-program'], env }).result;
    assert.equal(result.refused?.reason, 'shell.failed');
  });
});
