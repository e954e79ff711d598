// Owns: a run as one file to take away: inputs, outputs, key preimage, policy, log, audit row and proof, signed.
// Refuses: a run without a recorded result, whose artifacts do not verify, or whose audit row says something else.
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import { verifyInclusion } from '../../base/merkle.ts';
import { padding, TAR_END, tarHeader } from '../../base/tar.ts';
import { encodeTree } from '../../base/tree-manifest.ts';
import type { BundleParts, BundleRun } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';
import type { RunRecord } from '../../contract/run.ts';
import type { RuntimeRuns } from '../../contract/runs.ts';
import type { AuditStore } from '../../contract/store.ts';
import { resultDigest } from '../identity.ts';
import type { InclusionFile, Side } from './bundle-files.ts';
import { artifactPath, BUNDLE_FILES, manifestPath, treeFiles } from './bundle-files.ts';
import { auditLeaf, buildAuditTree, checkpointOf, writePublicKey } from './checkpoint.ts';
import { readPolicy } from './keep-policy.ts';
import { writeEnvelope, writeStatement } from './statement.ts';

interface BundleFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly executable?: boolean;
  content(): AsyncIterable<Uint8Array>;
}

/** The bytes of the bundle. The same run gives the same bundle, however often and whenever it is exported on this host. */
export async function* exportBundle(run: BundleRun, parts: BundleParts): AsyncGenerator<Uint8Array> {
  const files = await collect(run, parts);
  const digests = files.map(({ path, sha256 }) => ({ path, sha256 }));
  const payload = writeStatement(run, digests, parts.signer.publicKey);
  files.push(inline(BUNDLE_FILES.attestation, writeEnvelope(payload, parts.signer)));
  files.sort(byPath);
  for (const { path, size, executable = false, content } of files) {
    yield tarHeader({ path, size, executable });
    for await (const piece of content()) yield piece;
    yield padding(size);
  }
  yield TAR_END();
}

/** Everything but the envelope. */
async function collect(run: BundleRun, parts: BundleParts): Promise<BundleFile[]> {
  const result = inline(BUNDLE_FILES.result, canonicalJson(run.result));
  const proven = await proveRow(run, parts, `sha256:${result.sha256}`);
  const files = [
    ...proven,
    inline(BUNDLE_FILES.preimage, canonicalJson(run.preimage)),
    inline(BUNDLE_FILES.policy, run.policy),
    result,
  ];
  const links = [
    ...run.inputs.map(({ role, artifact }) => ({ side: 'inputs' as Side, role, artifact })),
    ...run.outputs.map(({ role, artifact }) => ({ side: 'outputs' as Side, role, artifact })),
  ];
  for (const { side, role, artifact } of links)
    files.push(...(await artifactFiles(artifactPath(side, role), artifact, parts)));
  const twice = files.find(({ path }, at) => files.findIndex((one) => one.path === path) !== at);
  if (twice) throw fail('run.outputs', `Cannot export the run: two of its files would be "${twice.path}"`);
  return files.sort(byPath);
}

async function artifactFiles(path: string, id: ObjectId, { artifacts }: BundleParts): Promise<BundleFile[]> {
  const artifact = await artifacts.get(id);
  if (!artifact) throw fail('object.missing', `Cannot export the run: ${id} is gone`);
  if (artifact.kind === 'file')
    return [{ path, size: artifact.size, sha256: id.slice(7), content: () => artifacts.stream(id) }];
  const entries = await artifacts.entries(id);
  const files = treeFiles(path, entries).map(({ path: place, inside, entry }) => ({
    path: place,
    size: entry.size,
    sha256: entry.sha256,
    executable: entry.executable,
    content: () => artifacts.stream(id, inside),
  }));
  return [inline(manifestPath(path), encodeTree(entries)), ...files];
}

/** The row, its place in the tree that it completes, and that tree's signed checkpoint. */
async function proveRow(
  { runId, auditSeq }: BundleRun,
  { audit, signer }: BundleParts,
  result: string,
): Promise<BundleFile[]> {
  const body = await audit.body(auditSeq);
  const row = body === undefined ? undefined : JSON.parse(body);
  if (body === undefined || row.run_id !== runId)
    throw fail('audit.broken', `Cannot export the run: row ${auditSeq} of the audit is not about it`);
  // Rows of runs that were made by an earlier version say nothing about it.
  const answered = JSON.parse(String(row.facts ?? '{}'))?.result;
  if (answered !== undefined && answered !== result)
    throw fail(
      'audit.broken',
      `Cannot export the run: its result is kept as ${result}, and row ${auditSeq} of the audit says that the call answered ${answered}; "haft runs verify" executes it again and compares`,
    );
  const built = await buildAuditTree(audit, auditSeq);
  const { tree, origin } = built;
  const leaf = { leaf: auditLeaf(digest('audit/v1', body)), index: auditSeq - 1, size: tree.size };
  const path = tree.proveInclusion(auditSeq - 1);
  if (!verifyInclusion({ ...leaf, proof: path, root: tree.root() }))
    throw fail(
      'audit.broken',
      `Cannot export the run: row ${auditSeq} of the audit is not as it was written`,
    );
  const proof: InclusionFile = {
    leaf_index: auditSeq - 1,
    tree_size: tree.size,
    hashes: path.map((hash) => Buffer.from(hash).toString('base64')),
  };
  return [
    inline(BUNDLE_FILES.row, body),
    inline(BUNDLE_FILES.proof, canonicalJson(proof)),
    inline(BUNDLE_FILES.checkpoint, checkpointOf(built, signer)),
    inline(BUNDLE_FILES.key, `${writePublicKey(origin, signer.publicKey)}\n`),
  ];
}

function inline(path: string, content: string | Uint8Array): BundleFile {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return {
    path,
    size: bytes.length,
    sha256: sha256Hex(bytes),
    async *content() {
      yield bytes;
    },
  };
}

const byPath = (a: BundleFile, b: BundleFile) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));

interface BundleSite {
  readonly runs: Pick<RuntimeRuns, 'get' | 'attempts'>;
  readonly audit: Pick<AuditStore, 'rows'>;
  readonly objects: Pick<ObjectStore, 'get'>;
}

export async function gatherRun(runId: string, { runs, audit, objects }: BundleSite): Promise<BundleRun> {
  const run = await runs.get(runId);
  if (!run.result) throw fail('run.state', `Cannot export ${runId}: it is "${run.state}" and has no result`);
  const { callId, data } = run.result;
  const attempts = await runs.attempts(runId);
  const attempt = attempts.findLast(
    (one) => one.purpose === 'run' && one.state === 'succeeded' && one.callId === callId,
  );
  return {
    runId,
    preimage: run.preimage,
    policy: await readPolicy(objects, String(run.preimage.policyHash)),
    inputs: run.plan?.inputs.map(({ role, artifact }) => ({ role, artifact })) ?? [],
    outputs: attempt?.outputs ?? [],
    result: data,
    auditSeq: await findRow(run, audit),
    attempt: attempt
      ? {
          id: attempt.id,
          backend: attempt.backend,
          startedTs: attempt.startedTs ?? attempt.createdTs,
          endedTs: attempt.endedTs ?? attempt.createdTs,
        }
      : null,
  };
}

/** The outcome of the call that made the result; where its process died, of the first one that was answered with it. */
async function findRow({ runId, result }: RunRecord, audit: BundleSite['audit']): Promise<number> {
  const rows = await audit.rows({ runId, outcome: 'ok' });
  const row =
    rows.find(({ callId }) => callId === result?.callId) ??
    rows.find(({ facts }) => facts?.result === resultDigest(result?.data)) ??
    rows[0];
  if (row) return row.seq;
  throw fail('run.state', `Cannot export ${runId}: no call of it was answered yet; make the call again`);
}
