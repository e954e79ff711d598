import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import { paramsHash, runId } from '../../base/run-id.ts';
import { readTar, type TarEntry, type TarSource, tarHeader } from '../../base/tar.ts';
import type { BundleParts, BundleRun } from '../../contract/bundle.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { type ArtifactsEnvironment, inArtifacts } from '../../stores/artifacts/environment-for-tests.ts';
import { entry } from '../../testing/store/entries.ts';
import { resultDigest } from '../identity.ts';
import { createSigner } from './checkpoint.ts';
import { exportBundle } from './export-bundle.ts';
import { writeEnvelope } from './statement.ts';
import { verifyBundle } from './verify-bundle.ts';

const HOST_KEY = Buffer.alloc(32, 1);

let env: ArtifactsEnvironment;
let close: () => void;
let finished: Promise<void>;
let run: BundleRun;
let bundle: Buffer;
let entries: TarEntry[];

before(async () => {
  const opened = Promise.withResolvers<ArtifactsEnvironment>();
  const closing = Promise.withResolvers<void>();
  finished = inArtifacts(async (given) => {
    opened.resolve(given);
    await closing.promise;
  });
  env = await opened.promise;
  close = closing.resolve;
  run = await makeRun(env);
  bundle = await exported(run, partsOf(env));
  entries = await entriesOf(bundle);
});

after(async () => {
  close();
  await finished;
});

const partsOf = ({ artifacts, sqlite }: ArtifactsEnvironment, hostKey = HOST_KEY): BundleParts => ({
  artifacts,
  audit: sqlite.store.audit,
  signer: createSigner(hostKey),
});

describe('exportBundle', () => {
  it('holds inputs, outputs, log, preimage, policy, result, row, proof, checkpoint, key and envelope', () => {
    assert.deepEqual(
      entries.map(({ path }) => path),
      [
        'attestation.json',
        'audit/checkpoint.txt',
        'audit/proof.json',
        'audit/row.json',
        'inputs/reads',
        'inputs/tree.tree',
        'inputs/tree/data',
        'inputs/tree/run.sh',
        'outputs/log',
        'outputs/table',
        'policy.json',
        'preimage.json',
        'public-key.txt',
        'result.json',
      ],
    );
  });

  it('is the same bundle whenever it is exported, also once there are more rows', async () => {
    await env.sqlite.store.audit.append(entry({ callId: 'later' }), true);
    assert.ok(bundle.equals(await exported(run, partsOf(env))));
  });

  it('is an in-toto statement with SLSA provenance of the outputs', () => {
    const { payloadType, payload } = JSON.parse(contentOf('attestation.json').toString());
    const statement = JSON.parse(Buffer.from(payload, 'base64').toString());
    assert.equal(payloadType, 'application/vnd.in-toto+json');
    assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
    assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1');
    const table = run.outputs[0]!;
    assert.deepEqual(statement.subject[0], {
      name: 'table',
      digest: { sha256: table.artifact.slice(7) },
      annotations: { type: 'text/csv', label: 'Table' },
    });
    const { buildDefinition, runDetails } = statement.predicate;
    assert.equal(buildDefinition.externalParameters.tool, 'count_reads');
    assert.deepEqual(
      buildDefinition.resolvedDependencies.map(({ name }: { name: string }) => name),
      ['reads', 'tree'],
    );
    assert.equal(runDetails.metadata.startedOn, '1970-01-01T00:00:01.000Z');
  });

  it('refuses a row that is about something else or was changed, and artifacts that are gone', async () => {
    const parts = partsOf(env);
    await assert.rejects(exported({ ...run, auditSeq: 1 }, parts), { reason: 'audit.broken' });
    await assert.rejects(exported({ ...run, auditSeq: 99 }, parts), { reason: 'audit.broken' });
    const body = async (seq: number) => (await parts.audit.body(seq))?.replace('"ok"', '"no"');
    await assert.rejects(exported(run, { ...parts, audit: { ...parts.audit, body } }), {
      reason: 'audit.broken',
    });
    await assert.rejects(exported({ ...run, result: { rows: 2 } }, parts), {
      reason: 'audit.broken',
      message: /its result is kept as/,
    });
    const gone = { role: 'x', artifact: `sha256:${'0'.repeat(64)}` } as const;
    await assert.rejects(exported({ ...run, inputs: [gone] }, parts), { reason: 'object.missing' });
  });
});

describe('verifyBundle', () => {
  it('finds nothing wrong with a bundle that is as it was, and says who signed it', async () => {
    const { publicKey } = createSigner(HOST_KEY);
    assert.deepEqual(await verifyBundle(sourceOf(bundle)), {
      ok: true,
      problems: [],
      runId: run.runId,
      tool: 'count_reads',
      signedBy: publicKey.id,
      trusted: false,
      files: entries.length,
    });
    const known = await verifyBundle(sourceOf(bundle), { key: publicKey });
    assert.deepEqual([known.ok, known.trusted], [true, true]);
  });

  it('names the part in which a byte was changed, whichever part and byte that is', async () => {
    for (const { path, offset, size } of entries) {
      for (const at of new Set([0, size >> 1, size - 1])) {
        const verdict = await verifyBundle(sourceOf(flipped(bundle, offset + at)));
        assert.deepEqual(partsIn(verdict), [path], `${path}, byte ${at}`);
        assert.equal(verdict.ok, false);
      }
    }
  });

  it('names every part that was changed', async () => {
    const [first, second] = ['inputs/reads', 'outputs/table'].map(
      (path) => entries.find((one) => one.path === path)!,
    );
    const changed = flipped(flipped(bundle, first!.offset), second!.offset);
    assert.deepEqual(partsIn(await verifyBundle(sourceOf(changed))), ['inputs/reads', 'outputs/table']);
  });

  it('names what was changed around the contents', async () => {
    for (const { path, offset, size } of entries) {
      const header = await verifyBundle(sourceOf(flipped(bundle, offset - 512 + 136)));
      assert.ok(partsIn(header).includes(path), path);
      if (size % 512 === 0) continue;
      const behind = await verifyBundle(sourceOf(flipped(bundle, offset + size)));
      assert.ok(partsIn(behind).includes(path), path);
    }
    for (const changed of [bundle.subarray(0, -512), Buffer.concat([bundle, Buffer.alloc(1)])])
      assert.equal((await verifyBundle(sourceOf(changed))).ok, false);
  });

  it('names a file that can be run and could not, one that is gone and one that was added', async () => {
    const script = entries.find(({ path }) => path === 'inputs/tree/run.sh')!;
    const tame = Buffer.from(bundle);
    tame.set(tarHeader({ path: script.path, size: script.size, executable: false }), script.offset - 512);
    assert.deepEqual(partsIn(await verifyBundle(sourceOf(tame))), ['inputs/tree/run.sh']);
    const last = entries.at(-1)!;
    const cut = Buffer.concat([bundle.subarray(0, last.offset - 512), Buffer.alloc(1024)]);
    assert.deepEqual(partsIn(await verifyBundle(sourceOf(cut))), ['result.json']);
    const more = Buffer.concat([
      bundle.subarray(0, -1024),
      tarHeader({ path: 'zzz', size: 0 }),
      Buffer.alloc(1024),
    ]);
    assert.deepEqual(partsIn(await verifyBundle(sourceOf(more))), ['zzz']);
  });

  it('does not take another host for the one that was expected, however well it signs', async () => {
    const forged = await exported(run, partsOf(env, Buffer.alloc(32, 2)));
    const verdict = await verifyBundle(sourceOf(forged));
    assert.deepEqual([verdict.ok, verdict.trusted], [true, false]);
    const expected = await verifyBundle(sourceOf(forged), { key: createSigner(HOST_KEY).publicKey });
    assert.equal(expected.ok, false);
    assert.ok(partsIn(expected).includes('public-key.txt'));
    assert.ok(partsIn(expected).includes('attestation.json'));
  });

  it('holds a signer to what the parts say about each other', async () => {
    const parts = partsOf(env);
    const preimage = run.preimage as { params: JsonObject };
    const lies: readonly [part: string, lie: Partial<BundleRun>][] = [
      ['preimage.json', { preimage: { ...preimage, params: { ...preimage.params, threads: 9 } } }],
      ['policy.json', { policy: canonicalJson(['another policy']) }],
      [
        'preimage.json',
        { inputs: run.inputs.map((one) => ({ ...one, artifact: run.outputs[0]!.artifact })).slice(0, 1) },
      ],
      [
        'audit/row.json',
        { outputs: run.outputs.map((one) => ({ ...one, artifact: run.inputs[0]!.artifact })) },
      ],
    ];
    for (const [part, lie] of lies) {
      const verdict = await verifyBundle(sourceOf(await exported({ ...run, ...lie }, parts)));
      assert.deepEqual(partsIn(verdict), [part]);
    }
  });

  it('finds another result, however well it is signed', async () => {
    const altered = Buffer.from(bundle);
    const replace = (path: string, content: Uint8Array) => {
      const { offset, size } = entries.find((one) => one.path === path)!;
      assert.equal(content.length, size);
      altered.set(content, offset);
    };
    const other = Buffer.from('{"rows":2}');
    const { payload } = JSON.parse(contentOf('attestation.json').toString());
    const statement = Buffer.from(payload, 'base64')
      .toString()
      .replaceAll(sha256Hex(contentOf('result.json')), sha256Hex(other));
    replace('result.json', other);
    replace('attestation.json', Buffer.from(writeEnvelope(Buffer.from(statement), createSigner(HOST_KEY))));
    const verdict = await verifyBundle(sourceOf(altered));
    assert.deepEqual(partsIn(verdict), ['result.json']);
    assert.match(verdict.problems[0]?.problem ?? '', /not what the row of the audit says/);
  });

  it('says of what is no bundle that it is none', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('hello'), Buffer.alloc(1024), Buffer.alloc(5000, 7)]) {
      const verdict = await verifyBundle(sourceOf(bytes));
      assert.deepEqual([verdict.ok, verdict.signedBy], [false, null]);
      assert.ok(verdict.problems.length > 0);
    }
  });
});

/** A run with two inputs, one of them a tree, and its rows in the audit. */
async function makeRun({ artifacts, scratch, sqlite }: ArtifactsEnvironment): Promise<BundleRun> {
  await mkdir(join(scratch, 'tree'));
  await writeFile(join(scratch, 'tree', 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(join(scratch, 'tree', 'data'), Buffer.alloc(3_000_000, 'data'));
  const reads = await artifacts.importBytes(Buffer.from('@r1\nACGT\n+\nIIII\n'));
  const tree = await artifacts.importPath(join(scratch, 'tree'));
  const table = await artifacts.importBytes(Buffer.from('reads,1\n'));
  const log = await artifacts.importBytes(Buffer.from('counted\n'));
  const inputs = [
    { role: 'reads', artifact: reads.id },
    { role: 'tree', artifact: tree.id },
  ];
  const params = {
    threads: 1,
    inputs: inputs.map(({ role, artifact }) => ({ role, digest: artifact })),
  } as unknown as JsonObject;
  const policy = canonicalJson([{ denied: false }]);
  const key = {
    tool: 'count_reads',
    contractVersion: 'v1',
    policyHash: digest('policy/v1', policy),
    paramsHash: paramsHash(params),
  };
  const { audit } = sqlite.store;
  for (let n = 0; n < 5; n++) await audit.append(entry({ callId: `before_${n}` }), false);
  const result: Json = { rows: 1 };
  const facts = { outputs: { table: table.id, log: log.id }, result: resultDigest(result) as string };
  const outcome = { tool: 'count_reads', callId: 'call_run', runId: runId(key), facts };
  const { seq } = await audit.append(entry(outcome), true);
  const output = (role: string, type: string, label: string, { id, size }: typeof table) => ({
    role,
    type,
    label,
    artifact: id,
    size,
  });
  return {
    runId: runId(key),
    preimage: { ...key, params },
    policy,
    inputs,
    outputs: [output('table', 'text/csv', 'Table', table), output('log', 'text/plain', 'Log', log)],
    result,
    auditSeq: seq,
    attempt: { id: 'att_1', backend: 'local', startedTs: 1000, endedTs: 2000 },
  };
}

async function exported(given: BundleRun, parts: BundleParts): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of exportBundle(given, parts)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const sourceOf = (bytes: Buffer): TarSource => ({
  size: bytes.length,
  read: async (position, length) => bytes.subarray(position, position + length),
});

async function entriesOf(bytes: Buffer): Promise<TarEntry[]> {
  const found: TarEntry[] = [];
  for await (const one of readTar(sourceOf(bytes))) found.push(one);
  return found;
}

function contentOf(path: string): Buffer {
  const { offset, size } = entries.find((one) => one.path === path)!;
  return bundle.subarray(offset, offset + size);
}

const partsIn = ({ problems }: { problems: readonly { part: string }[] }) => problems.map(({ part }) => part);

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at]! ^= 1;
  return copy;
}
