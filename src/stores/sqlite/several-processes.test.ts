import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { amount } from '../../../test/e2e/support/amount.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';

const PROCESSES = 4;
const ROWS = 2000;
const KILLS = amount('HAFT_STORE_KILLS', 200, 8);

const urlOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

interface Started {
  readonly child: ChildProcess;
  /** What it wrote to its standard error: why it ended when it should not have. */
  readonly complaints: readonly string[];
}

/** Starts a process that runs `code` with a store of its own over the same state. */
function start(env: SqliteEnvironment, name: string, code: string): Started {
  const program = `
    import { readFileSync, writeFileSync, writeSync } from 'node:fs';
    import { openSqliteStore } from ${urlOf('./open-sqlite-store.ts')};
    import { processIdentity } from ${urlOf('../process-identity.ts')};
    import { entry, intent } from ${urlOf('../../testing/store/entries.ts')};
    const name = ${JSON.stringify(name)};
    const folder = ${JSON.stringify(env.folder)};
    const process_ = processIdentity();
    const store = await openSqliteStore({ folder, process: process_, clock: Date });
    const never = new AbortController().signal;
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const complaints: string[] = [];
  child.stderr!.on('data', (text) => complaints.push(String(text)));
  return { child, complaints };
}

describe('several processes over one state', () => {
  it('make one chain, lose no row, and keep out of each other’s way', async () => {
    const env = await openSqliteEnvironment();
    try {
      const counter = join(env.folder, 'counter');
      await writeFile(counter, '0');
      const children = Array.from({ length: PROCESSES }, (_, i) =>
        start(
          env,
          `p${i}`,
          `
          let next = 0;
          const worker = async () => {
            while (next < ${ROWS}) {
              const i = next++;
              if (i % 20 === 0) {
                const release = await store.locks.acquire([{ path: 'counter', tree: false }], never);
                const value = Number(readFileSync(folder + '/counter', 'utf8'));
                await new Promise(setImmediate);
                writeFileSync(folder + '/counter', String(value + 1));
                await release();
              }
              await store.audit.append(entry({ callId: name + '_' + i, process: process_ }), i % 50 === 0);
            }
          };
          await Promise.all(Array.from({ length: 32 }, worker));
          await store.close();`,
        ),
      );
      const codes = await Promise.all(children.map(({ child }) => once(child, 'exit')));
      assert.deepEqual(
        codes.map(([code]) => code),
        codes.map(() => 0),
        children.flatMap(({ complaints }) => complaints).join(''),
      );
      const verdict = await env.store.audit.verify();
      assert.deepEqual(verdict, { ok: true, head: await env.store.audit.head() });
      const rows = await env.store.audit.rows({});
      assert.equal(new Set(rows.map((row) => row.callId)).size, PROCESSES * ROWS);
      assert.equal((await env.store.sessions.get('sess_1'))?.usage.calls, PROCESSES * ROWS);
      assert.equal(Number(await readFile(counter, 'utf8')), (PROCESSES * ROWS) / 20);
      for (let i = 0; i < PROCESSES; i++) {
        const own = rows.filter((row) => row.callId.startsWith(`p${i}_`)).length;
        assert.equal(own, ROWS);
      }
    } finally {
      await env.close();
    }
  });
});

describe('a process that is killed', () => {
  it(`has every row that it acknowledged in the audit (${KILLS} times)`, async () => {
    const env = await openSqliteEnvironment();
    try {
      const acknowledged: string[] = [];
      for (let round = 0; round < KILLS; round++) {
        acknowledged.push(...(await killedAfter(env, `r${round}`, 1 + Math.floor(Math.random() * 150))));
        const taken = await env.store.audit.takeAbandoned(Date.now());
        for (const { callId } of taken) assert.ok(!acknowledged.includes(callId), callId);
        // Whatever it held is free.
        await (await env.store.locks.acquire([{ path: '.', tree: true }], AbortSignal.timeout(10_000)))();
      }
      const done = (await env.store.audit.rows({})).filter(
        (row) => row.phase === 'outcome' && row.outcome === 'ok',
      );
      const present = new Set(done.map((row) => row.callId));
      assert.deepEqual(
        acknowledged.filter((callId) => !present.has(callId)),
        [],
      );
      assert.equal((await env.store.audit.verify()).ok, true);
    } finally {
      await env.close();
    }
  });
});

/** Lets a process make durable calls, kills it once it has acknowledged some, and answers what it acknowledged. */
async function killedAfter(env: SqliteEnvironment, name: string, calls: number): Promise<readonly string[]> {
  const { child, complaints } = start(
    env,
    name,
    `
    let next = 0;
    const worker = async (own) => {
      for (;;) {
        const callId = name + '_' + next++;
        const release = await store.locks.acquire([{ path: 'src/' + own, tree: false }], never);
        await store.audit.append(intent({ callId, process: process_ }), true);
        await store.audit.append(entry({ callId, process: process_ }), true);
        writeSync(1, callId + '\\n');
        await release();
      }
    };
    for (let own = 0; own < 8; own++) worker(own);`,
  );
  const seen: string[] = [];
  for await (const line of createInterface(child.stdout!)) {
    seen.push(line);
    if (seen.length === calls) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL', complaints.join(''));
  return seen;
}
