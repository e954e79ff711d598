// Owns: reading the file that a change of a part of it starts from, held against the version that the caller expects.
// Refuses: files too large to be worked on as text.
import { sha256Hex } from '../../base/digest.ts';
import type { ToolContext } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';

/** Text that people read. */
const MAX_FILE = 32 * 1024 * 1024;

export interface FileBefore {
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly sha256: string;
}

/** `verb` is what the caller was about to do, for the message. */
export async function readBefore(
  ctx: ToolContext,
  path: string,
  verb: 'patch' | 'edit',
  expected: string | undefined,
): Promise<FileBefore> {
  const { bytes, mode } = await ctx.fs.read(path, { maxBytes: MAX_FILE });
  const sha256 = sha256Hex(bytes);
  if (expected === undefined || sha256 === expected) return { bytes, mode, sha256 };
  const message = `Cannot ${verb} "${path}": its SHA-256 is ${sha256}, not ${expected}`;
  throw fail('file.conflict', message, { path, expected_sha256: expected, actual_sha256: sha256 });
}
