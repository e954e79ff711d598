// Owns: applying one file's patch to bytes, so that every byte it does not change stays as it is.
// Refuses: to guess an encoding: text is matched as UTF-8 where the file is, else byte by byte.
import { isUtf8 } from 'node:buffer';
import { applyFilePatch } from '../../base/unified-diff/apply-patch.ts';
import type { FilePatch, PatchedText, PatchRefusal } from '../../base/unified-diff/file-patch.ts';
import { type Failure, fail, type Reason } from '../../contract/errors.ts';
import { asBuffer } from './text-content.ts';

export interface PatchedBytes {
  readonly bytes: Uint8Array;
  readonly hunksApplied: number;
}

/**
 * A file that is not UTF-8 is matched twice: with the diff's characters as one byte each (a Latin-1 file, as an agent
 * reads it), then as the bytes that they have in UTF-8 (a UTF-8 file with a few broken bytes).
 */
export function patchBytes(path: string, bytes: Uint8Array, patch: FilePatch): PatchedBytes {
  const buffer = asBuffer(bytes);
  if (isUtf8(buffer)) return written(path, applyFilePatch(buffer.toString('utf8'), patch), 'utf8');
  const text = buffer.toString('latin1');
  const narrow = patch.hunks.every((hunk) => hunk.lines.every((line) => !/[^\0-\xff]/.test(line.text)));
  if (narrow) {
    const applied = applyFilePatch(text, patch);
    if (applied.ok) return written(path, applied, 'latin1');
  }
  return written(path, applyFilePatch(text, asUtf8Bytes(patch)), 'latin1');
}

function written(
  path: string,
  result: PatchedText | PatchRefusal,
  encoding: 'utf8' | 'latin1',
): PatchedBytes {
  if (!result.ok) throw refusal(path, result);
  return { bytes: Buffer.from(result.text, encoding), hunksApplied: result.hunksApplied };
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
