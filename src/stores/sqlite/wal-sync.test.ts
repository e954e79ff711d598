import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { entry } from '../../testing/store/entries.ts';
import { openSqliteEnvironment } from './environment-for-tests.ts';

const OPEN = new URL('./open-sqlite-store.ts', import.meta.url).href;
const ENTRIES = new URL('../../testing/store/entries.ts', import.meta.url).href;

/** Traces a process that runs `code` with a store; needs strace. `say` writes a line to its standard output at once. */
async function traced(
  code: string,
  inject: readonly string[] = [],
): Promise<{ calls: string[]; said: string[] }> {
  const root = await mkdtemp(join(tmpdir(), 'haft-trace-'));
  const log = join(root, 'trace');
  const program = `
    import { writeSync } from 'node:fs';
    import { openSqliteStore } from ${JSON.stringify(OPEN)};
    import { entry } from ${JSON.stringify(ENTRIES)};
    const say = (text) => writeSync(1, text + '\\n');
    const store = await openSqliteStore({ folder: ${JSON.stringify(join(root, '.haft'))}, process: '1::', clock: Date });
    ${code}`;
  const trace = ['-f', '-y', '-s', '64', '-e', 'trace=pwrite64,write,fsync,fdatasync', ...inject, '-o', log];
  const child = spawnSync('strace', [...trace, process.execPath, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  try {
    assert.equal(child.error, undefined, 'this test needs strace');
    assert.equal(child.status, 0, child.stderr);
    const lines = (await readFile(log, 'utf8')).split('\n');
    return { calls: lines.map(toCall).filter((call) => call !== ''), said: child.stdout.trim().split('\n') };
  } finally {
    await rm(root, { recursive: true });
  }
}

/** What matters of a traced line. A call that another thread interrupts counts where it ended. */
function toCall(line: string): string {
  const said = /write\(1<.*?"(\w+)\\n"/.exec(line)?.[1];
  if (said) return said;
  if (/pwrite64\(\d+<.*haft\.db-wal>/.test(line)) return 'log written';
  if (/fdatasync\(\d+<.*haft\.db-wal>\)\s+= 0/.test(line) || /fdatasync resumed>\)\s+= 0/.test(line))
    return 'log synced';
  return '';
}

describe('a durable append', () => {
  it('answers after its row was written to the log and the log was synced', async () => {
    const { calls } = await traced(`
      say('begin');
      await store.audit.append(entry(), true);
      say('acknowledged');`);
    const own = calls.slice(calls.indexOf('begin'));
    const written = own.indexOf('log written');
    const synced = own.indexOf('log synced', own.lastIndexOf('log written'));
    assert.ok(written > 0, own.join(', '));
    assert.ok(synced > written, own.join(', '));
    assert.ok(own.indexOf('acknowledged') > synced, own.join(', '));
  });

  it('shares its sync with those that were committed meanwhile', async () => {
    const slow = ['-e', 'inject=fdatasync:delay_enter=1000000'];
    const { calls, said } = await traced(
      `
      let first = 'waiting';
      const appends = [store.audit.append(entry(), true).then(() => { first = 'answered'; })];
      while ((await store.audit.head()).count < 1) await new Promise(setImmediate);
      for (let count = 2; count <= 4; count++) {
        appends.push(store.audit.append(entry(), true));
        while ((await store.audit.head()).count < count) await new Promise(setImmediate);
      }
      say(first);
      await Promise.all(appends);`,
      slow,
    );
    assert.deepEqual(said, ['waiting'], 'all four are committed while the first sync runs');
    assert.equal(calls.filter((call) => call === 'log synced').length, 2);
  });

  it('that only few wait for costs one sync for all of a group', async () => {
    const { calls } = await traced(`
      await Promise.all(Array.from({ length: 64 }, () => store.audit.append(entry(), true)));`);
    assert.equal(calls.filter((call) => call === 'log synced').length, 1);
  });

  it('fails when the disk does, and so does everything after it', async () => {
    const { said } = await traced(
      `
      const outcome = (append) => append.then(() => 'answered', (failure) => failure.reason);
      await store.audit.append(entry(), false).then(() => say('kept'));
      say(await outcome(store.audit.append(entry(), true)).then((reason) => reason.replace('.', '_')));
      say(await outcome(store.audit.append(entry(), false)).then((reason) => reason.replace('.', '_')));
      await store.close();`,
      ['-e', 'inject=fdatasync:error=EIO'],
    );
    assert.deepEqual(said, ['kept', 'file_io', 'file_io']);
  });

  it('fails when the state folder was deleted meanwhile', async () => {
    const env = await openSqliteEnvironment();
    try {
      await env.store.audit.append(entry(), true);
      await rm(env.folder, { recursive: true });
      await assert.rejects(env.store.audit.append(entry(), true), {
        reason: 'store.unwritable',
        message: /deleted/,
      });
      await assert.rejects(env.store.audit.append(entry(), false), { reason: 'store.unwritable' });
    } finally {
      await env.close();
    }
  });
});

describe('an append that need not be durable', () => {
  it('does not wait for the disk', async () => {
    const { calls } = await traced(`
      await store.audit.append(entry(), false);
      say('acknowledged');`);
    assert.ok(calls.includes('acknowledged'));
    assert.ok(!calls.includes('log synced'));
  });
});
