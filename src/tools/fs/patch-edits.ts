// Owns: a diff's new contents, worked out from what is there, and the edits that put them in place.
// Refuses: to change anything itself.
import { sha256Hex } from '../../base/digest.ts';
import type { PlacedHunk } from '../../base/unified-diff/file-patch.ts';
import type { Edit, ToolContext } from '../../contract/capability.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { patchBytes } from './patch-bytes.ts';
import type { PatchTarget } from './patch-targets.ts';

export interface PatchedFile {
  readonly path: string;
  readonly change: 'modify' | 'create' | 'delete' | 'rename' | 'copy';
  readonly hunks_applied: number;
  readonly from?: string;
  /** The hunks that are not at the lines that their headers state. */
  readonly moved?: readonly PlacedHunk[];
  /** Of the new content; absent for a deleted file. */
  readonly sha256?: string;
}

/** A diff is for text that people read. */
const MAX_FILE = 32 * 1024 * 1024;

export interface Patched {
  readonly target: PatchTarget;
  readonly before: { readonly bytes: Uint8Array; readonly mode: number; readonly sha256: string } | undefined;
  readonly after: Uint8Array | undefined;
  readonly file: PatchedFile;
}

export async function applyTo(ctx: ToolContext, target: PatchTarget, expected?: string): Promise<Patched> {
  const { patch, from, to } = target;
  const before = from === null ? undefined : await readBefore(ctx, from, expected);
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

async function readBefore(ctx: ToolContext, path: string, expected: string | undefined) {
  const { bytes, mode } = await readExisting(ctx, path);
  const hash = sha256Hex(bytes);
  if (expected === undefined || hash === expected) return { bytes, mode, sha256: hash };
  const message = `Cannot patch "${path}": its SHA-256 is ${hash}, not ${expected}`;
  throw fail('file.conflict', message, { path, expected_sha256: expected, actual_sha256: hash });
}

async function readExisting(ctx: ToolContext, path: string) {
  try {
    return await ctx.fs.read(path, { maxBytes: MAX_FILE });
  } catch (thrown) {
    const reason = isFailure(thrown) ? thrown.reason : undefined;
    if (reason === 'path.is_directory') {
      const fact = `it is a directory; end path with "/" and name the files in the diff's headers`;
      throw fail('path.is_directory', `Cannot patch "${path}": ${fact}`);
    }
    if (reason !== 'path.not_directory') throw thrown;
    const fact = 'a part of it is a file; the diff names another file than path does';
    throw fail('patch.wrong_file', `Cannot patch "${path}": ${fact}`);
  }
}

/** All is worked out from what was there, so that two files can trade names; removals come first. */
export function editsOf(patched: readonly Patched[]): Edit[] {
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
