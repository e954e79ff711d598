// Owns: checking a bundle without anything but the bundle: what was altered since it was signed, part by part.
// Refuses: to trust a file before its digest is one that was signed, and to stop at the first thing that is wrong.
import { createSha256 } from '../../base/digest.ts';
import { readTar, type TarEntry, type TarSource } from '../../base/tar.ts';
import type { BundleProblem, BundleVerdict, PublicKey } from '../../contract/bundle.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { CLAIMS, type Claims } from './bundle-claims.ts';
import { BUNDLE_FILES } from './bundle-files.ts';
import { readPublicKey } from './checkpoint.ts';
import { openEnvelope } from './envelope.ts';
import { type Attested, readStatement } from './statement.ts';

export interface VerifyOptions {
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
  throw fail('bundle.altered', 'Cannot trust it: it is not in the form that it should have');
}

function parse(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
