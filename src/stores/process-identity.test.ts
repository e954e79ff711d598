import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { isAlive, processIdentity } from './process-identity.ts';

describe('processIdentity', () => {
  it('names this process by pid, start and boot, and always in the same way', () => {
    assert.match(processIdentity(), new RegExp(`^${process.pid}:\\d+:[0-9a-f-]{36}$`));
    assert.equal(processIdentity(), processIdentity(process.pid));
  });
});

describe('isAlive', () => {
  it('follows a process from its life to its end', async () => {
    const child = spawn('sleep', ['1000']);
    await once(child, 'spawn');
    const identity = processIdentity(child.pid);
    assert.equal(isAlive(identity), true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(isAlive(identity), false);
  });

  it('takes a process that nobody has waited for yet for dead', async () => {
    // The shell never waits for its first child, which therefore stays a zombie while the second runs.
    const shell = spawn('sh', ['-c', 'sh -c "exit 0" & echo $!; exec sleep 1000']);
    const [pid] = await once(shell.stdout, 'data');
    const identity = processIdentity(Number(String(pid).trim()));
    while (isAlive(identity)) await new Promise((resolve) => setImmediate(resolve));
    shell.kill('SIGKILL');
    await once(shell, 'exit');
  });

  it('does not take a later process with the same pid, or one of an earlier boot, for the same', () => {
    const [pid, start, boot] = processIdentity().split(':');
    assert.equal(isAlive(`${pid}:1:${boot}`), false);
    assert.equal(isAlive(`${pid}:${start}:00000000-0000-0000-0000-000000000000`), false);
  });

  it('asks the pid alone where an identity has no more', () => {
    assert.equal(isAlive(`${process.pid}::`), true);
    assert.equal(isAlive('999999999::'), false);
  });

  it('takes nonsense for dead', () => {
    for (const nonsense of ['', 'x', ':::', '-1:1:1', '0::']) assert.equal(isAlive(nonsense), false);
  });
});
