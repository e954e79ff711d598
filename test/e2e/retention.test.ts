// Owns: the proof that old state is given up as policy says, that nothing else is, and that every command still knows it.
// Refuses: policies that an agent could bring: less is kept only where a person trusted that.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { createDefaultRuntime } from '../../src/preset/default.ts';
import { eventually } from '../support/eventually.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { startLivingHost } from './support/living-host.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY = `version: 1
audit:
  keep: {rows: 100}
undo:
  keep: {days: 1}
`;
/** More than one segment. */
const CALLS = 4300;
const HOUR_MS = 3_600_000;
/** What appending a row writes to the log, at most. */
const ONE_ROW = 64 * 1024;

async function call(root: string, calls: readonly { tool: string; args: object }[], laterMs = 0) {
  const clock = { now: () => Date.now() + laterMs, monotonic: () => performance.now() };
  const runtime = await createDefaultRuntime({ workspace: root, clock });
  try {
    return await Promise.all(calls.map((one) => runtime.call(one as never)));
  } finally {
    await runtime.close();
  }
}

const reads = (count: number) =>
  Array.from({ length: count }, () => ({ tool: 'file_read', args: { path: 'a.txt' } }));

describe('haft gc', () => {
  let workspace: Workspace;
  before(async () => {
    workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': POLICY });
    await call(workspace.root, [{ tool: 'file_write', args: { path: 'a.txt', content: 'b\n' } }]);
    await call(workspace.root, reads(CALLS));
  });
  after(() => workspace.remove());

  it('moves old rows into segments, and every command still knows them', async () => {
    const { root } = workspace;
    const asked = [
      ['audit', 'verify'],
      ['audit', 'head'],
      ['audit', 'list', '--last', '5000', '--json'],
      ['audit', 'list', '--tool', 'file_write', '--json'],
      ['audit', 'export'],
      ['policy', 'replay', workspace.path('haft.yaml'), '--last', '5000'],
    ];
    const ask = async () => Promise.all(asked.map((argv) => cli(root, ...argv)));
    const first = await ask();
    for (const { status, stderr } of first) assert.equal(status, 0, stderr);
    const checkpoint = (await cli(root, 'audit', 'checkpoint')).stdout;
    writeFileSync(workspace.path('checkpoint.txt'), checkpoint);

    const dry = await cliJson(root, 'gc', '--dry-run');
    assert.deepEqual([dry.status, dry.document.dry_run, dry.document.archived], [0, true, { rows: 4096 }]);
    assert.equal(dry.document.shrunk, null);
    assert.ok(!existsSync(workspace.path('.haft/audit')));
    const { status, document } = await cliJson(root, 'gc');
    assert.equal(status, 0);
    assert.deepEqual(document.archived, dry.document.archived);
    assert.equal(document.sizes.archived_rows, 4096);
    // Rows that left are not growth, though deleting them was logged; the row of haft gc itself is.
    const { database, free, segment_bytes: segmentBytes, total } = document.sizes;
    assert.ok(database <= dry.document.sizes.database + ONE_ROW, `${database} bytes, ${free} free`);
    assert.ok(total <= dry.document.sizes.total + segmentBytes + ONE_ROW, `${total} bytes`);
    assert.ok(free > database / 2, `${free} bytes of ${database} are free`);
    assert.equal(readdirSync(workspace.path('.haft/audit')).length, 1);

    // One row more than before: that of haft gc itself.
    const [, , list, ofTool, exported, replayed] = first.map(({ stdout }) => stdout);
    const [verifiedNow, headNow, listNow, ofToolNow, exportedNow, replayedNow] = await ask();
    assert.equal(verifiedNow?.status, 0, verifiedNow?.stderr);
    assert.equal(headNow?.status, 0, headNow?.stderr);
    const { rows } = JSON.parse(listNow?.stdout ?? '');
    assert.equal(rows.at(-1).tool, 'haft gc');
    assert.deepEqual(rows.slice(0, -1), JSON.parse(list ?? '').rows);
    assert.deepEqual(JSON.parse(ofToolNow?.stdout ?? ''), JSON.parse(ofTool ?? ''));
    assert.ok(exportedNow?.stdout.startsWith(exported ?? 'nothing'));
    assert.match(replayed ?? '', /^Nothing would change/);
    assert.match(replayedNow?.stdout ?? '', /^Nothing would change/);
    const verified = await cli(root, 'audit', 'verify', '--checkpoint', workspace.path('checkpoint.txt'));
    assert.equal(verified.status, 0, verified.stderr);
    const count = (text: string) => Number(text.split('\n')[1]);
    assert.equal(count((await cli(root, 'audit', 'checkpoint')).stdout), count(checkpoint) + 1);
    assert.equal((await cliJson(root, 'gc')).document.archived.rows, 0);
  });

  it('leaves what can be undone, also where its rows are in a segment', async () => {
    const { document } = await cliJson(workspace.root, 'audit', 'list', '--tool', 'file_write');
    const [{ seq, call_id: callId }] = document.rows;
    assert.equal(seq, 1);
    const undone = await cli(workspace.root, 'undo', callId);
    assert.equal(undone.status, 0, undone.stderr);
    assert.match(undone.stdout, /restored a\.txt/);
  });

  it('is told by haft doctor, thing by thing', async () => {
    const { document } = await cliJson(workspace.root, 'doctor');
    const { evidence } = document.findings.find(({ name }: { name: string }) => name === 'state size');
    for (const what of [/\.haft is /, /database: /, /audit segments: 4096 rows in 1 file/, /for undo/])
      assert.match(evidence, what);
  });

  it('names a segment that is gone, and audit verify exits with 1', async () => {
    const [file] = readdirSync(workspace.path('.haft/audit'));
    rmSync(workspace.path(`.haft/audit/${file}`));
    const verified = await haft(['audit', 'verify'], { cwd: workspace.root });
    assert.equal(verified.status, 1);
    assert.match(
      verified.stderr,
      new RegExp(`row 1: segment \\.haft/audit/${file} .*missing.*audit\\.broken`),
    );
  });
});

describe('undo.keep', () => {
  const withChange = async (
    work: (workspace: Workspace, callId: string, later: (ms: number) => Promise<unknown>) => Promise<void>,
  ) => {
    const workspace = makeWorkspace({ 'a.txt': 'old content\n', 'haft.yaml': POLICY });
    try {
      const [changed] = await call(workspace.root, [
        { tool: 'file_write', args: { path: 'a.txt', content: 'new\n' } },
      ]);
      await work(workspace, changed!.callId, async (ms) => {
        const clock = { now: () => Date.now() + ms, monotonic: () => performance.now() };
        const runtime = await createDefaultRuntime({ workspace: workspace.root, clock });
        return runtime.cleanUp().finally(() => runtime.close());
      });
    } finally {
      workspace.remove();
    }
  };

  it('gives up what is older: undo says so, and nothing else', () =>
    withChange(async ({ root, path }, callId, later) => {
      await later(23 * HOUR_MS);
      assert.equal((await cli(root, 'undo', callId, '--dry-run')).status, 0);
      assert.deepEqual(await later(25 * HOUR_MS), {
        archived: { rows: 0 },
        undo: { calls: 1, bytes: 12 },
        objects: { objects: 1, bytes: 12 },
        shrunk: 0,
      });
      for (const argv of [[callId], [callId, '--dry-run']]) {
        const { status, stderr } = await cli(root, 'undo', ...argv);
        assert.equal(status, 2);
        assert.match(stderr, /"a\.txt" held is kept no longer.*undo\.keep.*undo\.given_up/s);
      }
      const small = new DatabaseSync(path('.haft/haft.db')).prepare(
        'SELECT count(*) AS n FROM small_objects',
      );
      assert.equal(small.get()?.n, 0);
      assert.equal((await cli(root, 'audit', 'verify')).status, 0);
    }));

  it('says the same where haft artifacts gc --undo-for gave it up', () =>
    withChange(async ({ root }, callId) => {
      const clock = { now: () => Date.now() + 3 * HOUR_MS, monotonic: () => performance.now() };
      const runtime = await createDefaultRuntime({ workspace: root, clock });
      const sweep = { unusedForMs: HOUR_MS, undoForMs: 2 * HOUR_MS };
      const dry = await (await runtime.artifacts()).sweep({ ...sweep, dryRun: true });
      const { removed } = await (await runtime.artifacts()).sweep(sweep);
      await runtime.close();
      assert.deepEqual([removed.objects, dry.removed], [1, removed]);
      assert.match((await cli(root, 'undo', callId)).stderr, /undo\.given_up/);
    }));

  it('still undoes what needs nothing that was kept', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': POLICY });
    try {
      const [made, changed] = await call(workspace.root, [
        { tool: 'file_write', args: { path: 'new.txt', content: 'new\n' } },
        { tool: 'file_write', args: { path: 'haft2.txt', content: 'x' } },
      ]);
      assert.ok(changed!.ok);
      await call(workspace.root, [{ tool: 'file_write', args: { path: 'haft2.txt', content: 'y' } }]);
      const clock = { now: () => Date.now() + 25 * HOUR_MS, monotonic: () => performance.now() };
      const runtime = await createDefaultRuntime({ workspace: workspace.root, clock });
      assert.equal((await runtime.cleanUp()).undo.calls, 1);
      await runtime.close();
      const undone = await cli(workspace.root, 'undo', made!.callId);
      assert.equal(undone.status, 0, undone.stderr);
      assert.ok(!existsSync(workspace.path('new.txt')));
    } finally {
      workspace.remove();
    }
  });
});

describe('what is kept', () => {
  const edits: Readonly<Record<string, string>> = {
    'fewer days for undo': POLICY.replace('days: 1', 'days: 0'),
    'fewer bytes for undo': POLICY.replace('{days: 1}', '{days: 1, bytes: 0}'),
    'fewer rows in the database': POLICY.replace('rows: 100', 'rows: 99'),
    'fewer days in the database': POLICY.replace('{rows: 100}', '{rows: 100, days: 1}'),
  };
  for (const [name, text] of Object.entries(edits)) {
    it(`is not made less by an edit that nobody trusted: ${name}`, async () => {
      const workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': POLICY });
      try {
        await call(workspace.root, [{ tool: 'file_write', args: { path: 'a.txt', content: 'b\n' } }]);
        writeFileSync(workspace.path('haft.yaml'), text);
        for (const argv of [['gc'], ['gc', '--dry-run']]) {
          const { status, stderr } = await cli(workspace.root, ...argv);
          assert.equal(status, 3);
          assert.match(stderr, /keep\.(days|bytes|rows).*\(grants more\).*policy\.untrusted/s);
        }
        // More is kept without being asked.
        writeFileSync(workspace.path('haft.yaml'), POLICY.replace('days: 1', 'days: 90'));
        assert.equal((await cli(workspace.root, 'gc')).status, 0);
      } finally {
        workspace.remove();
      }
    });
  }

  it('is not made less by taking haft.yaml away', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': POLICY.replace('days: 1', 'days: 90') });
    try {
      rmSync(workspace.path('haft.yaml'));
      const { status, stderr } = await cli(workspace.root, 'gc');
      assert.equal(status, 3);
      assert.match(stderr, /undo\.keep\.days.*grants more/s);
    } finally {
      workspace.remove();
    }
  });

  it('is not for a session to say', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': POLICY });
    const runtime = await createDefaultRuntime({ workspace: workspace.root });
    try {
      for (const registry of [{ undo: { keep: { days: 0 } } }, { audit: { keep: { rows: 0 } } }])
        await assert.rejects(runtime.sessions.open({ registry: { version: 1, ...registry } }), {
          reason: 'policy.widens',
        });
    } finally {
      await runtime.close();
      workspace.remove();
    }
  });
});

describe('hosts that stay', () => {
  it('archive by themselves when nobody calls, two on one workspace', async () => {
    const workspace = makeWorkspace({ 'a.txt': 'a\n', 'haft.yaml': POLICY });
    try {
      await call(workspace.root, reads(CALLS));
      const hosts = await Promise.all([startLivingHost(workspace.root), startLivingHost(workspace.root)]);
      const segments = () =>
        existsSync(workspace.path('.haft/audit')) ? readdirSync(workspace.path('.haft/audit')) : [];
      await eventually(() => segments().some((name) => !name.includes('~')), 'a segment');
      for (const host of hosts) assert.equal((await host.call('file_read', { path: 'a.txt' })).reason, 'ok');
      for (const host of hosts) await host.close();
      const { status, document } = await cliJson(workspace.root, 'audit', 'verify');
      assert.deepEqual([status, document.ok, document.head.count], [0, true, CALLS + 2]);
      assert.equal(segments().length, 1);
    } finally {
      workspace.remove();
    }
  });
});
