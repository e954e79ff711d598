// Owns: the proof that a run can be taken away and checked elsewhere, and that the audit cannot be rewritten under a kept checkpoint.
// Refuses: backends; what a bundle says of an attempt is what the store has of it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { paramsHash, runId } from '../../src/base/run-id.ts';
import { readTar } from '../../src/base/tar.ts';
import { createRuntime, defineBuiltin } from '../../src/index.ts';
import { checkBundle, exportRun } from '../../src/preset/prove.ts';
import { hashForTests, writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { processIdentity } from '../../src/stores/process-identity.ts';
import { openSqliteStore } from '../../src/stores/sqlite/open-sqlite-store.ts';
import { entry } from '../../src/testing/store/entries.ts';
import { NODE_ARGS } from './support/haft.ts';
import { withToolpacks } from './support/toolpack-workspace.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const OBJECT = { type: 'object', additionalProperties: true } as const;

const double = defineBuiltin<{ readonly n: number }, { readonly twice: number }>({
  id: 'double',
  title: 'Double a number',
  description: 'Answers twice the number.',
  deterministic: true,
  input: OBJECT,
  output: OBJECT,
  effects: () => [],
  run: ({ n }) => ({ twice: n * 2 }),
});

describe('haft runs export and verify-bundle', () => {
  let workspace: Workspace;
  let home: string;
  let elsewhere: string;
  let run: string;
  before(async () => {
    workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n', 'reads.txt': 'ACGT\n' });
    home = mkdtempSync(join(tmpdir(), 'haft-home-'));
    elsewhere = mkdtempSync(join(tmpdir(), 'haft-elsewhere-'));
    run = await makeRun(workspace);
  });
  after(() => {
    workspace.remove();
    for (const folder of [home, elsewhere]) rmSync(folder, { recursive: true });
  });

  const haft = (args: readonly string[], cwd = workspace.root, config = home) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...NODE_ARGS, ...args], {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: config, XDG_CONFIG_HOME: config, ...hashForTests(cwd) },
    });
    return { status, out: stdout, err: stderr };
  };
  const bundle = () => join(elsewhere, 'run.tar');

  it('writes the same file each time, never over another, and tar opens it', () => {
    const first = haft(['runs', 'export', run, '--to', bundle()]);
    assert.equal(first.status, 0, first.err);
    assert.match(haft(['runs', 'export', run, '--to', bundle()]).err, /something is already there/);
    const again = join(elsewhere, 'again.tar');
    assert.equal(haft(['runs', 'export', run, '--to', again, '--json']).status, 0);
    assert.ok(readFileSync(bundle()).equals(readFileSync(again)));
    rmSync(again);
    const { stdout } = spawnSync('tar', ['-xOf', bundle(), 'outputs/count'], { encoding: 'utf8' });
    assert.equal(stdout, '4\n');
    assert.deepEqual(readdirSync(elsewhere), ['run.tar']);
  });

  it('is checked where nobody ever saw the run, and leaves nothing there', () => {
    const empty = mkdtempSync(join(tmpdir(), 'haft-empty-'));
    try {
      const { status, out, err } = haft(['runs', 'verify-bundle', bundle()], empty, join(elsewhere, 'home'));
      assert.equal(status, 0, err);
      assert.ok(out.includes(run));
      assert.match(err, /no key to compare with/);
      assert.deepEqual(readdirSync(empty), []);
    } finally {
      rmSync(join(elsewhere, 'home'), { recursive: true, force: true });
      rmSync(empty, { recursive: true });
    }
  });

  it('is checked in the root of the machine, where no workspace can be', () => {
    const { status, out, err } = haft(['runs', 'verify-bundle', bundle()], '/');
    assert.equal(status, 0, err);
    assert.ok(out.includes(run));
    const named = haft(['runs', 'verify-bundle', bundle(), '--workspace', '/no/such'], '/');
    assert.deepEqual([named.status, /there is no such folder/.test(named.err)], [2, true]);
  });

  it('is told from what is no bundle in one sentence, which shows nothing of the file', () => {
    const other = join(elsewhere, 'other');
    const foreign = join(elsewhere, 'foreign.tar');
    writeFileSync(join(elsewhere, 'hidden'), 'SECRET');
    spawnSync('tar', ['-cf', foreign, '-C', elsewhere, 'hidden']);
    for (const content of ['', 'SECRET '.repeat(500), Buffer.alloc(4096), readFileSync(foreign)]) {
      writeFileSync(other, content);
      const { status, out, err } = haft(['runs', 'verify-bundle', other]);
      assert.deepEqual([status, out], [1, '']);
      assert.equal(
        err,
        `haft: ${other}: It is not a bundle as "haft runs export" writes one [E_INTERNAL bundle.altered]\n`,
      );
      const { ok, problems } = JSON.parse(haft(['runs', 'verify-bundle', other, '--json']).out);
      assert.deepEqual([ok, problems.length], [false, 1]);
    }
    for (const name of ['other', 'foreign.tar', 'hidden']) rmSync(join(elsewhere, name));
  });

  it('is held against the key that one knows the host by', () => {
    const key = join(home, 'host.pub');
    writeFileSync(key, haft(['audit', 'checkpoint', '--key']).out);
    const known = haft(['runs', 'verify-bundle', bundle(), '--key', key]);
    assert.deepEqual([known.status, known.err], [0, '']);
    const stranger = mkdtempSync(join(tmpdir(), 'haft-stranger-'));
    try {
      const other = haft(['audit', 'checkpoint', '--key'], workspace.root, stranger).out.trim();
      const { status, err } = haft(['runs', 'verify-bundle', bundle(), '--key', other]);
      assert.equal(status, 1);
      assert.match(err, /public-key\.txt: It is not the key that was expected/);
    } finally {
      rmSync(stranger, { recursive: true });
    }
    assert.equal(haft(['runs', 'verify-bundle', bundle(), '--key', 'nonsense']).status, 2);
  });

  it('names what was altered', () => {
    const changed = join(elsewhere, 'changed.tar');
    const bytes = readFileSync(bundle());
    const at = bytes.indexOf('ACGT\n');
    bytes[at] = 0x54;
    writeFileSync(changed, bytes);
    const { status, err } = haft(['runs', 'verify-bundle', changed]);
    assert.equal(status, 1);
    assert.equal(err, 'haft: inputs/reads: Its content is not what was signed [E_INTERNAL bundle.altered]\n');
    const { ok, problems } = JSON.parse(haft(['runs', 'verify-bundle', changed, '--json']).out);
    assert.deepEqual([ok, problems.length], [false, 1]);
  });

  it('exports a deterministic call that needed no backend, under the policy that it was made under', async () => {
    const runtime = await createRuntime({ workspace: workspace.root, tools: [double] });
    const { runId: id } = await runtime.call({ tool: 'double', args: { n: 21 } });
    await runtime.close();
    writeTrusted(workspace.path('haft.yaml'), 'version: 1\nlimits: { timeout_ms: 1234 }\n');
    const file = join(elsewhere, 'double.tar');
    const exported = haft(['runs', 'export', id!, '--to', file]);
    assert.equal(exported.status, 0, exported.err);
    assert.equal(haft(['runs', 'verify-bundle', file]).status, 0);
    const { stdout } = spawnSync('tar', ['-xOf', file, 'result.json'], { encoding: 'utf8' });
    assert.equal(stdout, '{"twice":42}');
  });

  it('says why a run cannot be exported', () => {
    const { status, err } = haft(['runs', 'export', 'run_none', '--to', join(elsewhere, 'none.tar')]);
    assert.equal(status, 2);
    assert.match(err, /run\.unknown/);
    assert.ok(!readdirSync(elsewhere).includes('none.tar'));
  });

  it('shows by a kept checkpoint that the audit was cut or rewritten', async () => {
    const kept = join(home, 'checkpoint');
    writeFileSync(kept, haft(['audit', 'checkpoint']).out);
    haft(['call', 'file_read', '{"path":"reads.txt"}']);
    assert.equal(haft(['audit', 'verify', '--checkpoint', kept]).status, 0);
    const other = makeWorkspace({ 'haft.yaml': 'version: 1\n', 'reads.txt': 'x' });
    try {
      for (let n = 0; n < 2; n++) haft(['call', 'file_read', '{"path":"reads.txt"}'], other.root);
      assert.match(haft(['audit', 'verify', '--checkpoint', kept], other.root).err, /cut off|rewritten/);
    } finally {
      other.remove();
    }
    writeFileSync(kept, readFileSync(kept, 'utf8').replace(/\n\d+\n/, '\n1\n'));
    const forged = haft(['audit', 'verify', '--checkpoint', kept]);
    assert.deepEqual([forged.status, /bundle\.altered/.test(forged.err)], [1, true]);
  });
});

describe('the bundle of a run that was executed', () => {
  it('verifies, and its audit row knows the outputs', () =>
    withToolpacks(['text_stats'], async (workspace) => {
      const text = await workspace.import('one two\n');
      const { runId: id, data } = await workspace.call('text_stats', { text });
      const runtime = await workspace.runtime();
      const pieces: Uint8Array[] = [];
      const env = { HAFT_KEY: Buffer.alloc(32, 5).toString('base64') };
      for await (const piece of exportRun(runtime, id!, env)) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      const read = async (position: number, length: number) => bytes.subarray(position, position + length);
      const source = { size: bytes.length, read };
      const verdict = await checkBundle(source, undefined);
      assert.deepEqual([verdict.ok, verdict.runId, verdict.problems], [true, id, []]);
      const paths: string[] = [];
      for await (const { path } of readTar(source)) paths.push(path);
      assert.ok(['inputs/text', 'outputs/stats', 'outputs/log'].every((path) => paths.includes(path)));
      const [row] = await runtime.audit.rows({ runId: id!, outcome: 'ok' });
      const outputs = Object.fromEntries(data.outputs.map(({ role, artifact_id }) => [role, artifact_id]));
      assert.deepEqual(row?.facts?.outputs, outputs);
    }));
});

/** A run with an input, an output and a log, as an attempt on a backend leaves it in the store. */
async function makeRun({ root, path }: Workspace): Promise<string> {
  const runtime = await createRuntime({ workspace: root, tools: [double] });
  const artifacts = await runtime.artifacts();
  const reads = await artifacts.importPath(path('reads.txt'));
  const count = await artifacts.importBytes(Buffer.from('4\n'));
  const log = await artifacts.importBytes(Buffer.from('counted\n'));
  // Its policy is kept as that of any deterministic tool is.
  await runtime.call({ tool: 'double', args: { n: 1 } });
  const policyHash = runtime.policy.current.hashFor('double');
  await runtime.close();
  const params = { inputs: [{ role: 'reads', digest: reads.id, size: reads.size, dest: 'reads.txt' }] };
  const key = { tool: 'double', contractVersion: 'v1', policyHash, paramsHash: paramsHash(params) };
  const id = runId(key);
  const store = await openSqliteStore({
    folder: join(root, '.haft'),
    process: processIdentity(),
    clock: Date,
  });
  const link = (role: string, { id: artifact, size }: typeof count) => ({
    role,
    type: 'text/plain',
    label: role,
    artifact,
    size,
  });
  const outputs = [link('count', count), link('log', log)];
  const plan = {
    argv: ['wc'],
    env: {},
    inputs: [{ role: 'reads', artifact: reads.id, dest: 'reads.txt' }],
    outputs: [],
    resources: { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes: 1 },
  };
  const preimage = { ...key, params };
  await store.runs?.begin(
    { runId: id, tool: 'double', contract: 'v1', preimage, args: {}, plan },
    { id: 'att_1', purpose: 'run', backend: 'local', callId: 'call_run' },
    1000,
  );
  const end = { failure: null, cause: null, exitCode: 0, message: '', observed: null };
  await store.runs?.finish('att_1', { ...end, state: 'succeeded', outputs, data: { chars: 4 } }, 2000);
  const facts = { outputs: Object.fromEntries(outputs.map(({ role, artifact }) => [role, artifact])) };
  await store.audit.append(entry({ tool: 'double', callId: 'call_run', runId: id, facts }), true);
  await store.close();
  return id;
}
