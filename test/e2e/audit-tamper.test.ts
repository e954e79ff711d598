// Owns: the proof that an audit which was touched says so, at the row that was touched.
// Refuses: to ask the store nicely: triggers are dropped and rows are changed behind its back.
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { createRuntime } from '../../src/index.ts';
import {
  AUDIT_COLUMNS,
  GENESIS,
  HASH,
  hashRow,
  PREV,
  SEQ,
  type StoredRow,
} from '../../src/stores/audit-row.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

/** One character of a text, or one of a number, becomes another. */
const CHANGES: Readonly<Record<string, (column: string) => string>> = {
  'its first character': (c) => `CASE substr(${c}, 1, 1) WHEN 'x' THEN 'y' ELSE 'x' END || substr(${c}, 2)`,
  'its last character': (c) =>
    `substr(${c}, 1, length(${c}) - 1) || CASE substr(${c}, -1) WHEN '0' THEN '1' ELSE '0' END`,
  'a space more': (c) => `${c} || ' '`,
};

describe('a touched audit', () => {
  let workspace: Workspace;
  let head: string;
  let count: number;

  before(async () => {
    workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': 'version: 1\n' });
    const { root } = workspace;
    const runtime = await createRuntime({ workspace: root });
    const attribution = { task_id: 42, by: 'tester' };
    await runtime.call({ tool: 'file_read', args: { path: 'a.txt' } });
    const { callId } = await runtime.call({
      tool: 'file_write',
      args: { path: 'b.txt', content: 'b', attribution },
    });
    await runtime.call({ tool: 'file_read', args: { path: '../outside' } });
    await runtime.call({ tool: 'no_such_tool', args: {} });
    await runtime.call({ tool: 'undo', args: { call_id: callId } });
    await runtime.call({ tool: 'fs_list', args: {} });
    await runtime.close();
    const printed = await cli(root, 'audit', 'head');
    head = printed.stdout.trim();
    count = Number(head.split(':')[0]);
    assert.equal(count, 8);
    cpSync(workspace.path('.haft'), workspace.path('kept'), { recursive: true });
  });

  after(() => workspace.remove());

  /** Does something to the database, asks, and puts everything back. */
  const touched = async (
    touch: (database: DatabaseSync) => void,
    ask: () => Promise<void>,
  ): Promise<void> => {
    const database = new DatabaseSync(workspace.path('.haft/haft.db'));
    try {
      database.exec('DROP TRIGGER audit_keeps_rows; DROP TRIGGER audit_keeps_values');
      touch(database);
    } finally {
      database.close();
    }
    try {
      await ask();
    } finally {
      rmSync(workspace.path('.haft'), { recursive: true });
      cpSync(workspace.path('kept'), workspace.path('.haft'), { recursive: true });
    }
  };

  const assertNames = async (seq: number, ...argv: string[]) => {
    const { status, stdout, stderr } = await cli(workspace.root, 'audit', 'verify', ...argv);
    assert.equal(status, 1, stdout);
    assert.match(stderr, new RegExp(`row ${seq}: .*audit\\.broken`));
  };
  const assertVerifies = async (...argv: string[]) => {
    const { status, stderr } = await cli(workspace.root, 'audit', 'verify', ...argv);
    assert.equal(status, 0, stderr);
  };

  it('one that nobody touched verifies, also against its head', async () => {
    await assertVerifies();
    await assertVerifies('--head', head);
  });

  for (const [column, type] of Object.entries(AUDIT_COLUMNS)) {
    it(`is noticed in ${column} of every row`, async () => {
      for (let seq = 1; seq <= count; seq++) {
        for (const set of changesOf(column, type)) {
          const sql = `UPDATE audit SET ${column} = ${set} WHERE seq = ${seq} AND ${column} IS NOT ${set}`;
          let changed = 0;
          await touched(
            (database) => {
              changed = Number(database.prepare(sql).run().changes);
            },
            () => (changed === 0 ? assertVerifies() : assertNames(seq)),
          );
        }
      }
    });
  }

  it('is noticed by the program itself, which exits with 1 and names the row', async () => {
    await touched(
      (database) => database.exec("UPDATE audit SET tool = 'file_reap' WHERE seq = 1"),
      async () => {
        const plain = await haft(['audit', 'verify'], { cwd: workspace.root });
        assert.equal(plain.status, 1);
        assert.equal(plain.stdout, '');
        assert.match(plain.stderr, /row 1: /);
        const json = await haft(['audit', 'verify', '--json'], { cwd: workspace.root });
        assert.equal(json.status, 1);
        assert.deepEqual(Object.keys(JSON.parse(json.stdout)), ['ok', 'seq', 'problem']);
      },
    );
  });

  it('misses a row in the middle, and one at the front', async () => {
    for (const seq of [1, 4])
      await touched(
        (database) => database.exec(`DELETE FROM audit WHERE seq = ${seq}`),
        () => assertNames(seq),
      );
  });

  it('has two rows exchanged', async () => {
    await touched(
      (database) =>
        database.exec(
          'UPDATE audit SET seq = -1 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = -1',
        ),
      () => assertNames(3),
    );
  });

  it('has a row more than was written', async () => {
    const copy = Object.keys(AUDIT_COLUMNS)
      .map((name) => (name === 'seq' ? count + 1 : name))
      .join(', ');
    await touched(
      (database) => database.exec(`INSERT INTO audit SELECT ${copy} FROM audit WHERE seq = ${count}`),
      () => assertNames(count + 1),
    );
    await touched(
      (database) =>
        database.exec(
          `INSERT INTO audit SELECT ${copy.replace(`${count + 1}`, '0')} FROM audit WHERE seq = 1`,
        ),
      () => assertNames(0),
    );
  });

  for (const lost of [1, 3, 8]) {
    it(`without its last ${lost} rows is noticed, and fails against a head that somebody kept`, async () => {
      await touched(
        (database) => database.exec(`DELETE FROM audit WHERE seq > ${count - lost}`),
        async () => {
          const { status, stderr } = await cli(workspace.root, 'audit', 'verify');
          // A backup that was put back looks the same, except for one without any row.
          assert.equal(status, lost === count ? 1 : 0, stderr);
          assert.ok(stderr.includes(head), stderr);
          await assertNames(count - lost + 1, '--head', head);
        },
      );
    });
  }

  it('rewritten as a whole is noticed against a kept head', async () => {
    await touched(rewrite, async () => {
      assert.match((await cli(workspace.root, 'audit', 'verify')).stderr, /rewritten.*audit\.broken/);
      await assertNames(count, '--head', head);
      const { status, document } = await cliJson(workspace.root, 'audit', 'verify', '--head', head);
      assert.equal(status, 1);
      assert.match(document.problem, /rewritten/);
    });
  });

  it('rewritten and longer than before is noticed at the row of the kept head', async () => {
    await touched(rewrite, async () => {
      await cli(workspace.root, 'call', 'file_read', '{"path":"a.txt"}');
      await assertNames(count, '--head', head);
    });
  });

  it('that only grew agrees with a head of earlier', async () => {
    await touched(
      () => {},
      async () => {
        await cli(workspace.root, 'call', 'file_read', '{"path":"a.txt"}');
        await assertVerifies('--head', head);
        assert.notEqual((await cli(workspace.root, 'audit', 'head')).stdout.trim(), head);
      },
    );
  });

  it('is not held against a head that is none', async () => {
    for (const wrong of ['8', 'x:y', `${head}0`, `-1:${GENESIS}`]) {
      const { status, stderr } = await cli(workspace.root, 'audit', 'verify', `--head=${wrong}`);
      assert.equal(status, 2, wrong);
      assert.match(stderr, /usage/);
    }
  });
});

function changesOf(column: string, type: string): string[] {
  if (column === 'seq') return ['seq + 100'];
  if (type.startsWith('integer')) return [`coalesce(${column}, 0) + 1`, `coalesce(-${column}, 7)`];
  const changes = Object.values(CHANGES).map((change) => change(`coalesce(${column}, '')`));
  return type.endsWith('?') ? [...changes, 'NULL'] : changes;
}

/** Says that row 2 was another tool, and makes the whole chain agree. */
function rewrite(database: DatabaseSync): void {
  const names = Object.keys(AUDIT_COLUMNS);
  let prev = GENESIS;
  for (const found of database.prepare('SELECT * FROM audit ORDER BY seq').all()) {
    const row = names.map((name) => found[name]) as StoredRow;
    if (row[SEQ] === 2) row[names.indexOf('tool')] = 'fs_list';
    row[PREV] = prev;
    prev = hashRow(row);
    row[HASH] = prev;
    const set = names.map((name) => `${name} = ?`).join(', ');
    database.prepare(`UPDATE audit SET ${set} WHERE seq = ?`).run(...row, row[SEQ]!);
  }
}
