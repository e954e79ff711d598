// Owns: applying one file's patch to bytes, so that every byte it does not change stays as it is.
// Refuses: to guess an encoding: text is matched as UTF-8 where the file is, else byte by byte.
import { isUtf8 } from 'node:buffer';
import { applyFilePatch, isBlob } from '../../base/unified-diff/apply-patch.ts';
import type { FilePatch, PatchedText, PatchRefusal, PlacedHunk } from '../../base/unified-diff/file-patch.ts';
import type { Base } from '../../base/unified-diff/place-hunks.ts';
import { type Failure, fail, type Reason } from '../../contract/errors.ts';
import { asBuffer } from './text-content.ts';

export interface PatchedBytes {
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
  if (isUtf8(buffer)) return written(path, applyFilePatch(buffer.toString('utf8'), patch, base), 'utf8');
  const text = buffer.toString('latin1');
  const narrow = patch.hunks.every((hunk) => hunk.lines.every((line) => !/[^\0-\xff]/.test(line.text)));
  if (narrow) {
    const applied = applyFilePatch(text, patch, base);
    if (applied.ok) return written(path, applied, 'latin1');
  }
  return written(path, applyFilePatch(text, asUtf8Bytes(patch), base), 'latin1');
}

function written(
  path: string,
  result: PatchedText | PatchRefusal,
  encoding: 'utf8' | 'latin1',
): PatchedBytes {
  if (!result.ok) throw refusal(path, result);
  const { text, hunksApplied, placed } = result;
  return { bytes: Buffer.from(text, encoding), hunksApplied, placed };
}

/** The patch with one character for each byte of its UTF-8 form. */
function asUtf8Bytes(patch: FilePatch): FilePatch {
  const hunks = patch.hunks.map((hunk) => ({
    ...hunk,
    lines: hunk.lines.map((line) => ({ ...line, text: Buffer.from(line.text, 'utf8').toString('latin1') })),
  }));
  return { ...patch, hunks };
}

const REASONS: { readonly [reason in PatchRefusal['reason']]: Reason } = {
  'patch.stale': 'patch.stale',
  'patch.ambiguous': 'patch.ambiguous',
  'patch.overlap': 'patch.overlap',
  'patch.malformed': 'patch.malformed',
  'patch.exists': 'path.exists',
};

function refusal(path: string, refused: PatchRefusal): Failure {
  const { reason, hunk, line, expected, found, candidates, alreadyApplied } = refused;
  const fact = refused.message.replace(/^Cannot apply /, '');
  return fail(REASONS[reason], `Cannot patch "${path}": ${fact}`, {
    path,
    hunk,
    ...(line === undefined ? {} : { line }),
    ...(expected === undefined ? {} : { expected }),
    ...(found === undefined ? {} : { found }),
    ...(candidates === undefined ? {} : { candidates }),
    ...(alreadyApplied === undefined ? {} : { already_applied: true }),
  });
}
