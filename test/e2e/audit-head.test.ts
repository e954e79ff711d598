// Owns: the proof that an audit which was emptied, replaced or cut is held against what was seen of it before.
// Refuses: rows that were touched; audit-tamper.test.ts has those.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { createRuntime, ERRORS } from '../../src/index.ts';
import { AUDIT_COLUMNS, GENESIS, HASH, hashRow, PREV, type StoredRow } from '../../src/stores/audit-row.ts';
import { eventually } from '../support/eventually.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { startLivingHost } from './support/living-host.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const BROKEN = ERRORS['audit.broken'].exit;

describe('the head that is kept outside of the workspace', () => {
  const usual = process.env.XDG_CONFIG_HOME;
  const config = mkdtempSync(join(tmpdir(), 'haft-config-'));
  let workspace: Workspace;
  before(() => {
    process.env.XDG_CONFIG_HOME = config;
  });
  after(() => {
    if (usual === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = usual;
    rmSync(config, { recursive: true });
  });
  beforeEach(() => {
    workspace = makeWorkspace({ 'a.txt': 'a\n' });
  });
  afterEach(() => {
    workspace.remove();
    rmSync(join(config, 'haft/heads'), { recursive: true, force: true });
  });

  const calls = async (count: number, root = workspace.root) => {
    const runtime = await createRuntime({ workspace: root });
    for (let i = 0; i < count; i++) await runtime.call({ tool: 'file_read', args: { path: 'a.txt' } });
    await runtime.close();
  };
  const verify = (...argv: string[]) => cli(workspace.root, 'audit', 'verify', ...argv);
  const headOf = async () => (await cli(workspace.root, 'audit', 'head')).stdout.trim();
  const kept = () => {
    const folder = join(config, 'haft/heads');
    return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).head.count);
  };
  const inDatabase = (work: (database: DatabaseSync) => void) => {
    const database = new DatabaseSync(workspace.path('.haft/haft.db'));
    database.exec('DROP TRIGGER IF EXISTS audit_keeps_rows; DROP TRIGGER IF EXISTS audit_keeps_values');
    work(database);
    database.close();
  };

  it('is there after a command, and the audit holds it', async () => {
    assert.match((await verify()).stdout, /0 rows[\s\S]*No head of this audit is kept .* yet/);
    const { status } = await haft(['call', 'file_read', '{"path":"a.txt"}'], { cwd: workspace.root });
    assert.equal(status, 0);
    assert.deepEqual(kept(), [1]);
    const { document } = await cliJson(workspace.root, 'audit', 'verify');
    assert.deepEqual([document.ok, document.kept.state], [true, 'holds']);
  });

  const EMPTIED: Readonly<Record<string, () => void>> = {
    'whose state was removed': () => rmSync(workspace.path('.haft'), { recursive: true }),
    'whose database was removed': () => {
      for (const name of readdirSync(workspace.path('.haft')).filter((one) => one.startsWith('haft.db')))
        rmSync(workspace.path(`.haft/${name}`));
    },
    'whose rows were deleted': () => inDatabase((database) => database.exec('DELETE FROM audit')),
  };
  for (const [title, empty] of Object.entries(EMPTIED))
    it(`fails an audit ${title}, also once it has rows again, until a person accepts it`, async () => {
      await calls(4);
      const before = await headOf();
      empty();
      for (const more of [0, 1, 9]) {
        await calls(more);
        const { status, stdout, stderr } = await verify();
        assert.equal(status, BROKEN, stdout);
        assert.ok(stderr.includes(before) && stderr.includes(config), stderr);
        assert.match(stderr, /emptied, removed or replaced.*haft audit verify --accept/);
      }
      const { status, document } = await cliJson(workspace.root, 'audit', 'verify');
      assert.deepEqual([status, document.ok, document.kept.state], [BROKEN, false, 'replaced']);
      assert.equal((await verify('--accept')).status, 0);
      await calls(1);
      const again = await verify();
      assert.deepEqual([again.status, again.stderr], [0, '']);
    });

  it('fails a chain that was rewritten, however far it goes', async () => {
    await calls(6);
    inDatabase((database) => rewriteFrom(database, 3));
    assert.match((await verify()).stderr, /Row 6 is not the one that was kept .* rewritten/);
    await calls(3);
    assert.equal((await verify()).status, BROKEN);
    assert.deepEqual(kept(), [6]);
  });

  it('warns of a backup that was put back, and remembers it while the audit goes on', async () => {
    await calls(2);
    cpSync(workspace.path('.haft'), workspace.path('backup'), { recursive: true });
    await calls(3);
    const before = await headOf();
    rmSync(workspace.path('.haft'), { recursive: true });
    renameSync(workspace.path('backup'), workspace.path('.haft'));
    const first = await verify();
    assert.equal(first.status, 0);
    assert.match(first.stderr, /ends with row 2, and 3 rows after that were seen before/);
    await calls(12);
    const second = await verify();
    assert.deepEqual([second.status, second.stdout.startsWith('The audit verifies: 14 rows')], [0, true]);
    assert.ok(second.stderr.includes(before), second.stderr);
    assert.equal((await verify('--accept')).stderr, '');
    assert.equal((await verify()).stderr, '');
  });

  it('warns of a tail that was cut off, with how much is missing, even of a single row', async () => {
    await calls(5);
    inDatabase((database) => database.exec('DELETE FROM audit WHERE seq = 5'));
    assert.match((await verify()).stderr, /ends with row 4, and 1 row after that was seen/);
    const { document } = await cliJson(workspace.root, 'audit', 'verify');
    assert.deepEqual([document.ok, document.kept.state], [true, 'behind']);
    await calls(2);
    assert.match((await verify()).stderr, /not as far as it was/);
  });

  it('knows a workspace that was moved', async () => {
    await calls(3);
    const away = `${workspace.root}-moved`;
    renameSync(workspace.root, away);
    try {
      const moved = await cli(away, 'audit', 'verify');
      assert.equal(moved.status, 0);
      assert.match(moved.stderr, /was moved here from/);
      await calls(1, away);
      assert.equal((await cli(away, 'audit', 'verify')).stderr, '');
    } finally {
      renameSync(away, workspace.root);
    }
  });

  const inAnotherFolder = async (work: (away: string) => Promise<void>) => {
    const away = `${workspace.root}-moved`;
    renameSync(workspace.root, away);
    try {
      await work(away);
    } finally {
      renameSync(away, workspace.root);
    }
  };

  it('fails a chain that was rewritten also where the workspace was moved, until a person accepts it', async () => {
    await calls(6);
    inDatabase((database) => rewriteFrom(database, 3));
    await inAnotherFolder(async (away) => {
      for (const more of [0, 1, 3]) {
        await calls(more, away);
        const { status, stderr } = await cli(away, 'audit', 'verify');
        assert.equal(status, BROKEN, stderr);
        assert.match(stderr, /Row 6 is not the one that was kept .* rewritten.*kept for /);
        assert.doesNotMatch(stderr, /backup/);
      }
      assert.equal((await cli(away, 'audit', 'verify', '--accept')).status, 0);
      await calls(1, away);
      const again = await cli(away, 'audit', 'verify');
      assert.deepEqual([again.status, again.stderr], [0, '']);
    });
  });

  it('goes on to warn of rows that are missing where the workspace was moved', async () => {
    await calls(6);
    inDatabase((database) => database.exec('DELETE FROM audit WHERE seq > 4'));
    await inAnotherFolder(async (away) => {
      for (const more of [0, 1, 4]) {
        await calls(more, away);
        const { status, stderr } = await cli(away, 'audit', 'verify');
        assert.equal(status, 0, stderr);
        assert.match(stderr, /not as far as it was/);
      }
    });
  });

  it('is told at the start of a host that stays', async () => {
    await calls(3);
    rmSync(workspace.path('.haft'), { recursive: true });
    const host = await startLivingHost(workspace.root);
    try {
      await eventually(() => host.log().includes('This is not the audit that was here'), host.log);
    } finally {
      await host.close();
    }
  });

  it('is not kept without a folder, which is said and stops nothing', async () => {
    await calls(1);
    const env = { HOME: '', XDG_CONFIG_HOME: '' };
    const { status, stdout } = await haft(['audit', 'verify'], { cwd: workspace.root, env });
    assert.equal(status, 0);
    assert.match(stdout, /No head of this audit is kept: .* set HOME/);
    const refused = await haft(['audit', 'verify', '--accept'], { cwd: workspace.root, env });
    assert.equal(refused.status, ERRORS.usage.exit);
  });
});

/** As somebody would who can write `.haft/`: one row is another, and all after it are made to follow. */
function rewriteFrom(database: DatabaseSync, seq: number): void {
  database.exec(`UPDATE audit SET tool = 'innocent' WHERE seq = ${seq}`);
  const columns = Object.keys(AUDIT_COLUMNS);
  let before = GENESIS;
  for (const raw of database.prepare('SELECT * FROM audit ORDER BY seq').all()) {
    const row = columns.map((name) => raw[name]) as StoredRow;
    row[PREV] = before;
    before = hashRow(row);
    database.prepare('UPDATE audit SET prev = ?, hash = ? WHERE seq = ?').run(row[PREV]!, before, raw.seq!);
    row[HASH] = before;
  }
}
