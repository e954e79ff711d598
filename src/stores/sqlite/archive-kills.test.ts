// Owns: that processes which archive the audit and are killed lose no row and leave none twice.
// Refuses: what archiving is otherwise; archive-audit.test.ts has that.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { amount } from '../../../test/e2e/support/amount.ts';
import { archiveAll, SEGMENT, segmentsOf } from './archive-for-tests.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

/** A process that appends and archives as fast as it can, and says what it appended. */
function startArchiver(env: SqliteEnvironment, name: string): ChildProcess {
  const program = `
    import { openSqliteStore } from ${urlOf('./open-sqlite-store.ts')};
    import { processIdentity } from ${urlOf('../process-identity.ts')};
    import { entry } from ${urlOf('../../testing/store/entries.ts')};
    const self = processIdentity();
    const store = await openSqliteStore({
      folder: ${JSON.stringify(env.folder)}, process: self, clock: Date, segmentRows: ${SEGMENT},
    });
    let i = 0;
    const append = async () => {
      for (;;) {
        const callId = '${name}_' + i++;
        await store.audit.append(entry({ callId, process: self }), false);
        console.log(callId);
      }
    };
    const archive = async () => {
      for (;;) {
        await store.retention.archive({ rows: 1, since: 0 });
        await new Promise(setImmediate);
      }
    };
    await Promise.all([append(), archive()]);`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Its lines until it was killed, after so many. */
async function killedAfter(child: ChildProcess, lines: number): Promise<readonly string[]> {
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    said.push(line);
    if (said.length === lines) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return said;
}

const KILLS = amount('HAFT_ARCHIVE_KILLS', 60, 6);

describe('processes that archive and are killed', () => {
  it(`lose no row and leave none twice (${KILLS} times two at once)`, { timeout: 600_000 }, async () => {
    const env = await openSqliteEnvironment({ segmentRows: SEGMENT });
    try {
      const acknowledged: string[] = [];
      for (let round = 0; round < KILLS; round++) {
        const said = await Promise.all(
          ['a', 'b'].map((name, i) =>
            killedAfter(startArchiver(env, `${name}${round}`), 20 + ((round * 37 + i * 61) % 200)),
          ),
        );
        acknowledged.push(...said.flat());
        const store = await env.reopen();
        const verdict = await store.audit.verify();
        assert.deepEqual(verdict, { ok: true, head: await store.audit.head() });
        const found = (await store.audit.rows({})).map(({ callId }) => callId);
        assert.equal(found.length, verdict.ok ? verdict.head.count : 0);
        assert.equal(new Set(found).size, found.length, 'a row is there twice');
        const present = new Set(found);
        assert.deepEqual(
          acknowledged.filter((callId) => !present.has(callId)),
          [],
        );
      }
      await archiveAll({ store: await env.reopen() });
      const { segments } = await env.store.retention.sizes();
      assert.ok(segments > KILLS);
      assert.equal((await segmentsOf(env)).length, segments, 'a file that no record names');
    } finally {
      await env.close();
    }
  });
});
