import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AuditVerdict } from '../../contract/store.ts';
import { entry } from '../../testing/store/entries.ts';
import { AUDIT_COLUMNS } from '../audit-row.ts';
import { loadSqlite } from './connection.ts';
import { openSqliteEnvironment, type SqliteEnvironment } from './environment-for-tests.ts';

const ROWS = 6;
const VICTIM = 4;

/** Each column of each row holds bytes that are nowhere else in the file. */
const marked = (seq: number) => {
  const mark = (name: string): string => `mark-${name}-${seq}\ufffd`;
  return entry({
    callId: mark('call_id'),
    requestId: mark('request_id'),
    tool: mark('tool'),
    contract: mark('contract'),
    argsHash: mark('args_hash'),
    startTs: 1_600_000_000_000 + seq,
    endTs: 1_700_000_000_000 + seq,
    session: mark('session'),
    attribution: { by: mark('attribution') },
    facts: { seen: mark('facts') },
    decision: { verdict: 'allow', rule: mark('decision') },
    effects: [{ kind: 'fs.read', path: mark('effects') }],
    errors: [{ code: 'E_POLICY', reason: mark('errors') as never }],
    policyHash: mark('policy_hash'),
    runId: mark('run_id'),
    changes: [{ path: mark('changes') } as never],
    bytes: 77_000 + seq,
    process: mark('process'),
  });
};

/** Values that look alike and are not the same. `typeof` lets SQLite keep them apart. */
const SUBSTITUTES: Readonly<Record<string, (column: string) => string>> = {
  'the same value of another type': (column) =>
    `CASE typeof(${column}) WHEN 'integer' THEN CAST(${column} AS TEXT) WHEN 'text' THEN CAST(${column} AS BLOB) END`,
  'a real number or a longer text': (column) =>
    `CASE typeof(${column}) WHEN 'integer' THEN CAST(${column} AS REAL) ELSE ${column} || ' ' END`,
  'a number beyond all numbers': (column) => `coalesce(${column}, 0) * 0 + (1 << 62)`,
  'NULL, or empty where it was NULL': (column) => `CASE WHEN ${column} IS NULL THEN '' END`,
};

describe('audit.verify', () => {
  for (const [column, type] of Object.entries(AUDIT_COLUMNS)) {
    // The key of the table: SQLite keeps it as an integer and nothing else. Changing it means exchanging rows.
    if (column === 'seq') continue;
    if (!type.startsWith('integer')) {
      it(`notices one flipped bit in ${column}, in the file itself`, () =>
        tampered(async (env, file) => {
          const [row] = await env.store.audit.rows({ afterSeq: VICTIM - 1, limit: 1 });
          const chain = { phase: '', outcome: '', prev: row!.prev, hash: row!.hash };
          await env.store.close();
          const bytes = readFileSync(file);
          bytes[placeOf(bytes, column, chain)]! ^= 1;
          writeFileSync(file, bytes);
        }));
    }
    for (const [what, value] of Object.entries(SUBSTITUTES)) {
      it(`notices ${column} as ${what}`, () =>
        tampered(async (env, file) => {
          await env.store.close();
          untyped(file, `UPDATE audit SET ${column} = ${value(column)} WHERE seq = ${VICTIM}`);
        }));
    }
  }

  it('notices bytes that are not UTF-8 where the text had a replacement character', () =>
    tampered(async (env, file) => {
      await env.store.close();
      untyped(
        file,
        `UPDATE audit SET tool = CAST(replace(CAST(tool AS BLOB), x'efbfbd', x'f09f98') AS TEXT) WHERE seq = ${VICTIM}`,
      );
    }));

  it('notices a row that is gone', () =>
    tampered(async (env) => {
      env.sql(`DROP TRIGGER audit_keeps_rows; DELETE FROM audit WHERE seq = ${VICTIM}`);
    }));

  it('notices rows that were exchanged', () =>
    tampered(async (env) => {
      env.sql(`DROP TRIGGER audit_keeps_values;
        UPDATE audit SET seq = -1 WHERE seq = ${VICTIM};
        UPDATE audit SET seq = ${VICTIM} WHERE seq = ${VICTIM + 1};
        UPDATE audit SET seq = ${VICTIM + 1} WHERE seq = -1`);
    }));

  it('notices a row that was added at the end', () =>
    tampered(async (env) => {
      const columns = Object.keys(AUDIT_COLUMNS).slice(1).join(', ');
      env.sql(`INSERT INTO audit SELECT ${ROWS + 1}, ${columns} FROM audit WHERE seq = ${ROWS}`);
    }, ROWS + 1));

  it('notices a row whose number is beyond all numbers', () =>
    tampered(async (env) => {
      env.sql(`DROP TRIGGER audit_keeps_values; UPDATE audit SET seq = 1 << 62 WHERE seq = ${VICTIM}`);
    }));

  it('notices a row before the first', () =>
    tampered(async (env) => {
      const columns = Object.keys(AUDIT_COLUMNS).slice(1).join(', ');
      env.sql(`INSERT INTO audit SELECT 0, ${columns} FROM audit WHERE seq = 1`);
    }, 0));

  it('notices a tail that was cut, given a kept head', async () => {
    const env = await openMarked();
    try {
      const kept = await env.store.audit.head();
      env.sql(`DROP TRIGGER audit_keeps_rows; DELETE FROM audit WHERE seq > ${VICTIM}`);
      assert.equal((await env.store.audit.verify()).ok, true);
      assert.equal(seqOf(await env.store.audit.verify(kept)), VICTIM + 1);
    } finally {
      await env.close();
    }
  });

  it('is content with what nobody touched, over several windows', async () => {
    const env = await openSqliteEnvironment();
    try {
      await Promise.all(Array.from({ length: 4100 }, (_, i) => env.store.audit.append(marked(i), false)));
      assert.deepEqual(await env.store.audit.verify(), { ok: true, head: await env.store.audit.head() });
      assert.equal((await env.store.audit.rows({ last: 2100, tool: marked(7).tool })).length, 1);
    } finally {
      await env.close();
    }
  });
});

describe('the audit table', () => {
  it('refuses to change or delete rows', async () => {
    const env = await openMarked();
    try {
      assert.throws(() => env.sql("UPDATE audit SET tool = 'x'"), /append-only/);
      assert.throws(() => env.sql('DELETE FROM audit'), /append-only/);
      assert.equal((await env.store.audit.verify()).ok, true);
    } finally {
      await env.close();
    }
  });
});

async function openMarked(): Promise<SqliteEnvironment> {
  const env = await openSqliteEnvironment();
  for (let seq = 1; seq <= ROWS; seq++) await env.store.audit.append(marked(seq), false);
  return env;
}

async function tampered(
  tamper: (env: SqliteEnvironment, file: string) => Promise<void>,
  expected = VICTIM,
): Promise<void> {
  const env = await openMarked();
  try {
    env.sql('PRAGMA wal_checkpoint(TRUNCATE)');
    await tamper(env, join(env.folder, 'haft.db'));
    const later = await env.reopen();
    assert.equal(seqOf(await later.audit.verify()), expected);
  } finally {
    await env.close();
  }
}

const seqOf = (verdict: AuditVerdict): number | undefined => (verdict.ok ? undefined : verdict.seq);

/** Where in the file a byte of this column of the victim lies. */
function placeOf(file: Buffer, column: string, chain: Readonly<Record<string, string>>): number {
  const start = file.indexOf(`mark-call_id-${VICTIM}`);
  // `prev` of the victim is `hash` of the row before; each is looked for on its own side of the victim's texts.
  if (column === 'hash' || column === 'prev') return file.indexOf(chain[column]!, start) + 5;
  if (column === 'phase') return file.indexOf('outcome', start);
  if (column === 'outcome') return file.indexOf('ok', file.indexOf(`mark-effects-${VICTIM}`));
  return file.indexOf(`mark-${column}-${VICTIM}`) + 2;
}

/** Runs SQL on the audit with its types, its rules and its triggers out of the way, as someone with an editor would. */
function untyped(file: string, sql: string): void {
  const database = new (loadSqlite().DatabaseSync)(file, { defensive: false });
  const rewrite = (schema: string): void =>
    database.exec(`PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = '${schema.replaceAll("'", "''")}' WHERE name = 'audit';
      PRAGMA writable_schema = RESET`);
  const { sql: strict } = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'audit'").get() as {
    sql: string;
  };
  const loose = strict.replaceAll(/ (TEXT|INTEGER)( NOT NULL)?(,|\n)/g, ' BLOB$3').replace(' STRICT', '');
  database.exec('DROP TRIGGER audit_keeps_values');
  rewrite(loose);
  database.exec(sql);
  rewrite(strict);
  database.close();
}
