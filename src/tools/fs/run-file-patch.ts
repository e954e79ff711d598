// Owns: what `file_patch` does: which files a diff touches, their new contents worked out from what is there, so that every byte that
// it does not change stays as it is, and changing all of them or none.
// Refuses: to be loaded before the first patch, and to guess an encoding: text is matched as UTF-8 where the file is, else byte by byte.
import { isUtf8 } from 'node:buffer';
import { sha256Hex } from '../../base/digest.ts';
import { applyFilePatch, isBlob } from '../../base/unified-diff/apply-patch.ts';
import type { FilePatch, PatchedText, PatchRefusal, PlacedHunk } from '../../base/unified-diff/file-patch.ts';
import type { Base } from '../../base/unified-diff/place-hunks.ts';
import type { Edit, Loss, ToolContext } from '../../contract/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';
import type { EffectSite } from '../../contract/tool.ts';
import { lossesOf, type MutationArgs, type Preview, reads, writes } from './arguments.ts';
import { type PatchTarget, patchTargets } from './patch-targets.ts';
import { diffOf, previewOf } from './preview.ts';
import { type FileBefore, readBefore } from './read-before.ts';
import { asBuffer } from './text-content.ts';

export interface FilePatchArgs extends MutationArgs {
  readonly path: string;
  readonly unified_diff: string;
}

export interface FilePatchData extends Partial<Preview> {
  readonly patched: boolean;
  readonly hunks_applied: number;
  readonly files: readonly PatchedFile[];
  readonly sha256?: string;
  readonly not_kept?: readonly Loss[];
}

export function patchEffects(args: FilePatchArgs, site: EffectSite): readonly Effect[] {
  return patchTargets(args.path, args.unified_diff).flatMap((target) => effectsOf(site, target));
}

export async function runFilePatch(args: FilePatchArgs, ctx: ToolContext): Promise<FilePatchData> {
  const targets = patchTargets(args.path, args.unified_diff);
  if (args.expected_sha256 !== undefined && (targets.length > 1 || targets[0]!.from === null)) {
    const message = `Cannot patch "${args.path}": expected_sha256 is for a diff that changes one existing file`;
    throw fail('input.schema', message);
  }
  const patched: Patched[] = [];
  for (const target of targets) patched.push(await applyTo(ctx, target, args.expected_sha256));
  const files = patched.map((one) => one.file);
  const answer = {
    hunks_applied: files.reduce((sum, file) => sum + file.hunks_applied, 0),
    files,
    ...(files.length === 1 && files[0]!.sha256 ? { sha256: files[0]!.sha256 } : {}),
  };
  const edits = editsOf(patched);
  if (args.dry_run) {
    const changes = await ctx.fs.preview(edits);
    return { patched: false, ...answer, ...previewOf(ctx, changes, await diffOfAll(patched)) };
  }
  const lost = lossesOf(ctx, await ctx.fs.mutate(edits), 'kept');
  return { patched: true, ...answer, ...(lost.length > 0 ? { not_kept: lost } : {}) };
}

function effectsOf(site: EffectSite, { from, to, patch }: PatchTarget): Effect[] {
  const touched: Effect[] = [];
  if (from !== null) touched.push(reads(site, from));
  if (to !== null) touched.push(writes(site, to));
  if (from !== null && from !== to && patch.change !== 'copy') touched.push(writes(site, from));
  return touched;
}

async function diffOfAll(patched: readonly Patched[]): Promise<string | undefined> {
  const diffs: string[] = [];
  for (const { target, before, after } of patched) {
    const source = target.patch.change === 'copy' ? undefined : before;
    const diff = await diffOf(
      source && { path: target.from!, bytes: source.bytes },
      after && { path: target.to!, bytes: after },
    );
    if (diff === undefined) return undefined;
    diffs.push(diff);
  }
  return diffs.join('');
}

interface PatchedFile {
  readonly path: string;
  readonly change: 'modify' | 'create' | 'delete' | 'rename' | 'copy';
  readonly hunks_applied: number;
  readonly from?: string;
  /** The hunks that are not at the lines that their headers state. */
  readonly moved?: readonly PlacedHunk[];
  /** Of the new content; absent for a deleted file. */
  readonly sha256?: string;
}

interface Patched {
  readonly target: PatchTarget;
  readonly before: FileBefore | undefined;
  readonly after: Uint8Array | undefined;
  readonly file: PatchedFile;
}

async function applyTo(ctx: ToolContext, target: PatchTarget, expected?: string): Promise<Patched> {
  const { patch, from, to } = target;
  const before = from === null ? undefined : await readExisting(ctx, from, expected);
  const { bytes, hunksApplied, placed } = patchBytes((from ?? to)!, before?.bytes ?? new Uint8Array(), patch);
  const after = to === null ? undefined : bytes;
  const moved = placed.filter(({ offset }) => offset !== 0);
  const file: PatchedFile = {
    path: (to ?? from)!,
    change: patch.change,
    hunks_applied: hunksApplied,
    ...(from !== null && to !== null && from !== to ? { from } : {}),
    ...(moved.length > 0 ? { moved } : {}),
    ...(after ? { sha256: sha256Hex(after) } : {}),
  };
  return { target, before, after, file };
}

async function readExisting(ctx: ToolContext, path: string, expected: string | undefined) {
  try {
    return await readBefore(ctx, path, 'patch', expected);
  } catch (thrown) {
    const reason = isFailure(thrown) ? thrown.reason : undefined;
    if (reason === 'path.is_directory') {
      const fact = `it is a directory, and patches change files; if path is the folder of the files, end it with "/" and name them in the patch`;
      throw fail('path.is_directory', `Cannot patch "${path}": ${fact}`);
    }
    if (reason !== 'path.not_directory') throw thrown;
    const fact = 'a part of it is a file; the diff names another file than path does';
    throw fail('patch.wrong_file', `Cannot patch "${path}": ${fact}`);
  }
}

/** All is worked out from what was there, so that two files can trade names; removals come first. */
function editsOf(patched: readonly Patched[]): Edit[] {
  const written = new Set(patched.map((one) => one.target.to));
  const removed = patched.filter(({ target: { patch, from, to } }) => {
    return from !== null && from !== to && patch.change !== 'copy' && !written.has(from);
  });
  const existing = new Set(
    patched.flatMap(({ target }) => (target.patch.change === 'copy' ? [] : [target.from])),
  );
  return [
    ...removed.map(
      ({ target, before }): Edit => ({
        op: 'delete',
        path: target.from!,
        recursive: false,
        force: false,
        expectedSha256: before!.sha256,
      }),
    ),
    ...patched.flatMap((one) => (one.after ? [writeOf(one, one.after, patched, existing)] : [])),
  ];
}

function writeOf(
  { target, before }: Patched,
  bytes: Uint8Array,
  all: readonly Patched[],
  existing: ReadonlySet<string | null>,
): Edit {
  const to = target.to!;
  const mode = modeOf(target, before?.mode);
  const replaced = all.find((one) => one.target.from === to)?.before;
  return {
    op: 'write',
    path: to,
    bytes,
    createDirs: true,
    ...(mode === undefined ? {} : { mode }),
    ...(existing.has(to) ? {} : { mustCreate: true }),
    ...(replaced ? { expectedSha256: replaced.sha256 } : {}),
  };
}

function modeOf({ patch, from, to }: PatchTarget, before: number | undefined): number | undefined {
  const stated = patch.modeAfter;
  if (stated === undefined) return from === to || before === undefined ? undefined : before & 0o777;
  if (/^100[0-7]{3}$/.test(stated)) return Number.parseInt(stated.slice(3), 8);
  const fact = `the diff gives it the mode ${stated}, which is no regular file's`;
  throw fail('patch.malformed', `Cannot patch "${to}": ${fact}`);
}

interface PatchedBytes {
  readonly bytes: Uint8Array;
  readonly hunksApplied: number;
  readonly placed: readonly PlacedHunk[];
}

/**
 * A file that is not UTF-8 is matched twice: with the diff's characters as one byte each (a Latin-1 file, as an agent
 * reads it), then as the bytes that they have in UTF-8 (a UTF-8 file with a few broken bytes).
 */
export function patchBytes(path: string, bytes: Uint8Array, patch: FilePatch): PatchedBytes {
  const base =
    patch.hashBefore === undefined ? 'unknown' : isContent(bytes, patch.hashBefore) ? 'same' : 'other';
  const patched = patchAs(path, asBuffer(bytes), patch, base);
  // No file is always the one that a new file's diff was made for; models make up the hash of what it becomes.
  const checked = base === 'same' && patch.change !== 'create' && patch.hunks.length > 0;
  if (!checked || isContent(patched.bytes, patch.hashAfter!)) return patched;
  const fact =
    'the file is the one that the diff was made for, and the result is not what its "index" line says: the diff was cut off or edited; send it whole, or without the "index" line';
  throw fail('patch.malformed', `Cannot patch "${path}": ${fact}`, { path });
}

/** Git may keep lines with LF that the file has with CRLF. A deleted file has the hash zero. */
function isContent(bytes: Uint8Array, hash: string): boolean {
  if (/^0+$/.test(hash)) return bytes.length === 0;
  if (isBlob(bytes, hash)) return true;
  const text = asBuffer(bytes).toString('latin1');
  return text.includes('\r\n') && isBlob(Buffer.from(text.replaceAll('\r\n', '\n'), 'latin1'), hash) === true;
}

function patchAs(path: string, buffer: Buffer, patch: FilePatch, base: Base): PatchedBytes {
  if (isUtf8(buffer)) {
    return written(path, patch, applyFilePatch(buffer.toString('utf8'), patch, base), 'utf8');
  }
  const text = buffer.toString('latin1');
  const narrow = patch.hunks.every(({ lines, anchors = [] }) =>
    [...lines.map((line) => line.text), ...anchors].every((one) => !/[^\0-\xff]/.test(one)),
  );
  if (narrow) {
    const applied = applyFilePatch(text, patch, base);
    if (applied.ok) return written(path, patch, applied, 'latin1');
  }
  return written(path, patch, applyFilePatch(text, asUtf8Bytes(patch), base), 'latin1');
}

function written(
  path: string,
  patch: FilePatch,
  result: PatchedText | PatchRefusal,
  encoding: 'utf8' | 'latin1',
): PatchedBytes {
  if (!result.ok) throw refusal(path, result, patch);
  const { text, hunksApplied, placed } = result;
  return { bytes: Buffer.from(text, encoding), hunksApplied, placed };
}

/** The patch with one character for each byte of its UTF-8 form. */
function asUtf8Bytes(patch: FilePatch): FilePatch {
  const hunks = patch.hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => ({ ...line, text: utf8Bytes(line.text) })),
    ...(hunk.anchors ? { anchors: hunk.anchors.map(utf8Bytes) } : {}),
  }));
  return { ...patch, hunks };
}

const utf8Bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const REASONS: { readonly [reason in PatchRefusal['reason']]: Reason } = {
  'patch.stale': 'patch.stale',
  'patch.ambiguous': 'patch.ambiguous',
  'patch.overlap': 'patch.overlap',
  'patch.malformed': 'patch.malformed',
  'patch.exists': 'path.exists',
};

function refusal(path: string, refused: PatchRefusal, { hunks }: FilePatch): Failure {
  const { reason, hunk, line, expected, found, candidates, actual, alreadyApplied } = refused;
  const patchLine = hunks[hunk - 1]?.patchLine;
  const where = patchLine === undefined ? '' : ` (line ${patchLine} of the patch)`;
  const fact = refused.message.replace(/^Cannot apply (hunk \d+)?/, (_, which) =>
    which ? which + where : '',
  );
  return fail(REASONS[reason], `Cannot patch "${path}": ${fact}`, {
    path,
    hunk,
    ...(patchLine === undefined ? {} : { patch_line: patchLine }),
    ...(line === undefined ? {} : { line }),
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
    ...(candidates === undefined ? {} : { candidates }),
    ...(actual === undefined ? {} : { actual: { ...actual } }),
    ...(alreadyApplied === undefined ? {} : { already_applied: true }),
  });
}
