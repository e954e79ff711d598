// Owns: checking a bundle without anything but the bundle: what was altered since it was signed, and what its parts say about each other.
// Refuses: to trust a file before its digest is one that was signed, and to stop at the first thing that is wrong.
import { canonicalJson } from '../../base/canonical-json.ts';
import { createSha256, digest } from '../../base/digest.ts';
import { verifyInclusion } from '../../base/merkle.ts';
import { runId } from '../../base/run-id.ts';
import { readTar, type TarEntry, type TarSource } from '../../base/tar.ts';
import { decodeTree } from '../../base/tree-manifest.ts';
import type { BundleProblem, BundleVerdict, PublicKey } from '../../contract/bundle.ts';
import { isFailure } from '../../contract/errors.ts';
import type { InclusionFile } from './bundle-files.ts';
import { altered, artifactPath, BUNDLE_FILES, manifestPath, treeFiles } from './bundle-files.ts';
import { auditLeaf, openCheckpoint, readPublicKey } from './checkpoint.ts';
import { type Attested, openEnvelope, readStatement } from './statement.ts';

interface VerifyOptions {
  /** A key that the verifier knows the host by. */
  readonly key?: PublicKey;
}

/** Of what is read whole; contents of artifacts are not. */
const LARGEST = 256 * 1024 * 1024;
const PIECE = 1024 * 1024;

export async function verifyBundle(source: TarSource, options: VerifyOptions = {}): Promise<BundleVerdict> {
  const problems: BundleProblem[] = [];
  const entries = await entriesOf(source, problems);
  if (![...entries.keys(), ...problems.map(({ part }) => part)].some((path) => FILES.has(path)))
    return noBundle(entries.size);
  const text = (path: string) => textOf(source, entries.get(path));

  const key = await findKey(text, options.key, problems);
  const attested = await findStatement(text, key, problems);
  if (attested) await compareDigests(source, entries, attested, problems);
  const altered = new Set(problems.map(({ part }) => part));
  const claims: Claims = { text, files: entries, attested, key, altered };
  for (const { parts, check } of CLAIMS) {
    // What is known to be altered would only be blamed twice.
    if (parts.some((part) => altered.has(part))) continue;
    await collectProblem(parts[0]!, problems, () => check(claims).catch(asAltered));
  }
  const preimage = parse(await text(BUNDLE_FILES.preimage));
  return {
    ok: problems.length === 0,
    problems,
    runId: attested?.runId ?? null,
    tool: typeof preimage?.tool === 'string' ? preimage.tool : null,
    signedBy: attested && key ? key.id : null,
    trusted: problems.length === 0 && options.key !== undefined && options.key.id === key?.id,
    files: entries.size,
  };
}

const FILES: ReadonlySet<string> = new Set(Object.values(BUNDLE_FILES));

/** Of something else there is nothing to say part by part. */
const noBundle = (files: number): BundleVerdict => ({
  ok: false,
  problems: [{ part: 'archive', problem: 'It is not a bundle as "haft runs export" writes one' }],
  runId: null,
  tool: null,
  signedBy: null,
  trusted: false,
  files,
});

async function entriesOf(source: TarSource, problems: BundleProblem[]): Promise<Map<string, TarEntry>> {
  const entries = new Map<string, TarEntry>();
  try {
    for await (const entry of readTar(source)) entries.set(entry.path, entry);
  } catch (thrown) {
    const { reason, message, path } = thrown as { reason?: string; message: string; path?: string };
    if (reason !== 'input.not_canonical') throw thrown;
    problems.push({ part: path || 'archive', problem: message });
  }
  return entries;
}

/** The key that came along, or the one that the verifier brought: whoever altered the bundle could bring another. */
async function findKey(
  text: (path: string) => Promise<string | undefined>,
  known: PublicKey | undefined,
  problems: BundleProblem[],
): Promise<PublicKey | undefined> {
  const line = await text(BUNDLE_FILES.key);
  const found = await collectProblem(BUNDLE_FILES.key, problems, () => readPublicKey(line ?? ''));
  if (known && found && found.id !== known.id)
    problems.push({ part: BUNDLE_FILES.key, problem: 'It is not the key that was expected' });
  return known ?? found;
}

async function findStatement(
  text: (path: string) => Promise<string | undefined>,
  key: PublicKey | undefined,
  problems: BundleProblem[],
): Promise<Attested | undefined> {
  const envelope = await text(BUNDLE_FILES.attestation);
  return collectProblem(BUNDLE_FILES.attestation, problems, () =>
    key ? readStatement(openEnvelope(envelope ?? '', key)) : undefined,
  );
}

/** Every file that was signed is there as it was, and there is no other. */
async function compareDigests(
  source: TarSource,
  entries: ReadonlyMap<string, TarEntry>,
  { files }: Attested,
  problems: BundleProblem[],
): Promise<void> {
  for (const [path, sha256] of files) {
    const entry = entries.get(path);
    if (problems.some(({ part }) => part === path)) continue;
    if (!entry) problems.push({ part: path, problem: 'It is missing' });
    else if ((await hashEntry(source, entry)) !== sha256)
      problems.push({ part: path, problem: 'Its content is not what was signed' });
  }
  for (const path of entries.keys()) {
    if (path !== BUNDLE_FILES.attestation && !files.has(path))
      problems.push({ part: path, problem: 'It was not there when the bundle was signed' });
  }
}

async function hashEntry(source: TarSource, { offset, size }: TarEntry): Promise<string> {
  const hash = createSha256();
  for (let at = 0; at < size; at += PIECE)
    hash.update(await source.read(offset + at, Math.min(PIECE, size - at)));
  return hash.hex();
}

async function textOf(source: TarSource, entry: TarEntry | undefined): Promise<string | undefined> {
  if (!entry || entry.size > LARGEST) return undefined;
  return Buffer.from(await source.read(entry.offset, entry.size)).toString('utf8');
}

/** What it answers, or undefined and one more problem. */
async function collectProblem<T>(
  part: string,
  problems: BundleProblem[],
  work: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.reason !== 'bundle.altered') throw thrown;
    const blamed = String(thrown.details?.part ?? part);
    if (!problems.some((one) => one.part === blamed))
      problems.push({ part: blamed, problem: thrown.message });
    return undefined;
  }
}

/** Somebody else wrote it, so that anything may be missing in it. */
function asAltered(thrown: unknown): never {
  if (isFailure(thrown) && !thrown.reason.startsWith('input.')) throw thrown;
  throw altered('it is not in the form that it should have');
}

function parse(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

interface Claims {
  text(path: string): Promise<string | undefined>;
  readonly files: ReadonlyMap<string, TarEntry>;
  readonly attested: Attested | undefined;
  readonly key: PublicKey | undefined;
  /** Files that are known not to be what was signed. */
  readonly altered: ReadonlySet<string>;
}

/** `parts` are the files that it is about; the first is the one to blame. */
interface Claim {
  readonly parts: readonly string[];
  check(claims: Claims): Promise<void>;
}

const { checkpoint, proof, row, preimage, policy, key, result } = BUNDLE_FILES;

const CLAIMS: readonly Claim[] = [
  { parts: [checkpoint, key], check: async (claims) => void (await readCheckpoint(claims)) },
  {
    parts: [proof, row, checkpoint, key],
    async check(claims) {
      const { size, root } = await readCheckpoint(claims);
      const given = (await json(claims, proof)) as unknown as InclusionFile;
      const body = (await claims.text(row)) ?? '';
      const holds =
        given.tree_size === size &&
        verifyInclusion({
          leaf: auditLeaf(digest('audit/v1', body)),
          index: given.leaf_index,
          size,
          proof: given.hashes.map((hash) => Buffer.from(hash, 'base64')),
          root,
        });
      if (!holds) throw altered('it does not lead from the row to the root of the checkpoint');
    },
  },
  {
    parts: [preimage],
    async check(claims) {
      const fields = await json(claims, preimage);
      if (digest('params/v1', canonicalJson(fields.params ?? null)) !== fields.paramsHash)
        throw altered('its params are not those of its params hash');
      if (claims.attested && runId(fields as never) !== claims.attested.runId)
        throw altered('it is not the preimage of the run id');
    },
  },
  {
    parts: [policy, preimage],
    async check(claims) {
      const { policyHash } = await json(claims, preimage);
      if (digest('policy/v1', (await claims.text(policy)) ?? '') !== policyHash)
        throw altered('it is not the policy that the run id was computed with');
    },
  },
  {
    parts: [row, preimage],
    async check(claims) {
      const fields = await json(claims, row);
      const { tool } = await json(claims, preimage);
      if (claims.attested && fields.run_id !== claims.attested.runId)
        throw altered('it is about another run');
      if (fields.tool !== tool || fields.phase !== 'outcome' || fields.outcome !== 'ok')
        throw altered('it does not say that the run succeeded');
      const { outputs } = JSON.parse(String(fields.facts ?? '{}')) ?? {};
      for (const [role, artifact] of Object.entries(outputs ?? {})) {
        if (claims.attested && `sha256:${claims.attested.outputs.get(role)}` !== artifact)
          throw altered(`it knows another output "${role}"`);
      }
    },
  },
  {
    parts: [result, row],
    async check(claims) {
      const fields = await json(claims, row);
      const { result: answered } = JSON.parse(String(fields.facts ?? '{}')) ?? {};
      if (answered === undefined || !claims.attested) return;
      if (`sha256:${claims.attested.files.get(result)}` !== answered)
        throw altered('it is not what the row of the audit says that the call answered');
    },
  },
  {
    parts: [preimage],
    async check(claims) {
      const { params } = (await json(claims, preimage)) as { params?: { inputs?: unknown } };
      const inputs = Array.isArray(params?.inputs) ? params.inputs : [];
      for (const { role, digest: named } of inputs as { role: string; digest: string }[]) {
        if (claims.attested && hexOf(String(named)) !== claims.attested.inputs.get(role))
          throw altered(`it names another input "${role}"`);
      }
    },
  },
  { parts: [BUNDLE_FILES.attestation], check: checkArtifacts },
];

/** The files that lie in the bundle for a role are those of the digest that is attested for it. */
async function checkArtifacts({ attested, files, text, altered: known }: Claims): Promise<void> {
  if (!attested) return;
  const runnable = new Set<string>();
  for (const side of ['inputs', 'outputs'] as const) {
    for (const [role, sha256] of attested[side]) {
      const path = artifactPath(side, role);
      const manifest = attested.files.get(manifestPath(path));
      if ((manifest ?? attested.files.get(path)) !== sha256)
        throw altered(`"${path}" is not the artifact that it attests`);
      if (manifest === undefined) continue;
      // Without its manifest nothing can be said about a tree but that.
      if (known.has(manifestPath(path))) return;
      const entries = decodeTree(Buffer.from((await text(manifestPath(path))) ?? ''));
      for (const { path: place, entry } of treeFiles(path, entries)) {
        if (attested.files.get(place) !== entry.sha256)
          throw altered('it is not the file that its tree names', place);
        if (entry.executable) runnable.add(place);
      }
    }
  }
  for (const { path, executable } of files.values()) {
    if (executable !== runnable.has(path))
      throw altered(`it ${executable ? 'can' : 'cannot'} be run, unlike what its tree says`, path);
  }
}

async function readCheckpoint({ text, key: signed }: Claims) {
  if (!signed) throw altered('there is no key to check it with');
  return openCheckpoint((await text(checkpoint)) ?? '', signed);
}

async function json({ text }: Claims, path: string): Promise<Readonly<Record<string, never>>> {
  try {
    return JSON.parse((await text(path)) ?? '');
  } catch {
    throw altered('it is not JSON');
  }
}

const hexOf = (id: string): string => id.replace(/^sha256:/, '');
