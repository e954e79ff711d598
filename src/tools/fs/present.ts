// Owns: looking at what is at a path before a dry run speaks about changing it.
// Refuses: to change anything, and to hold more of a file than a diff could show.
import { createSha256, sha256Hex } from '../../base/digest.ts';
import type { EntryStat, ToolContext } from '../../contract/capability.ts';
import { fail, isFailure } from '../../contract/errors.ts';

export interface Present {
  readonly stat: EntryStat;
  /** Of a regular file, links followed. Absent when it is too large for a diff. */
  readonly bytes?: Uint8Array;
}

/** Over this much content a diff helps nobody. */
export const SHOWN_BYTES = 2 * 1024 * 1024;
const PIECE = 1024 * 1024;

/** Undefined when nothing is there, or only a link to nothing. */
export async function lookAt(ctx: ToolContext, path: string): Promise<Present | undefined> {
  const stat = await ctx.fs.stat(path);
  if (stat === undefined || stat.type === 'dir' || stat.type === 'other') return stat && { stat };
  try {
    const { bytes } = await ctx.fs.read(path, { maxBytes: SHOWN_BYTES });
    return { stat, bytes };
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    if (thrown.reason === 'file.too_large' || thrown.reason === 'path.is_directory') return { stat };
    if (thrown.reason === 'path.not_found') return undefined;
    throw thrown;
  }
}

/** Refuses like the real change would when the file is not the version that the caller has seen. */
export async function requireVersion(
  ctx: ToolContext,
  path: string,
  present: Present | undefined,
  expected: string | undefined,
): Promise<void> {
  if (expected === undefined) return;
  const current = present === undefined ? null : await hashOf(ctx, path, present);
  if (current === expected) return;
  const fact = current === null ? 'nothing is there' : `its SHA-256 is ${current}`;
  const message = `Cannot change "${path}": ${fact}, not ${expected}`;
  throw fail('file.conflict', message, { path, expected_sha256: expected, current_sha256: current });
}

async function hashOf(ctx: ToolContext, path: string, present: Present): Promise<string> {
  if (present.bytes) return sha256Hex(present.bytes);
  const hash = createSha256();
  for (let at = 0; ; at += PIECE) {
    ctx.signal.throwIfAborted();
    const { bytes, size } = await ctx.fs.read(path, { range: { start: at, end: at + PIECE } });
    hash.update(bytes);
    if (at + PIECE >= size) return hash.hex();
  }
}
