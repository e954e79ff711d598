// Owns: storing a stream of unknown length: hashed while it is copied, in pieces that are worth a write.
// Refuses: to hold more than two pieces in memory, and to leave anything behind when the stream breaks off.
import { createSha256 } from '../../base/digest.ts';
import type { ObjectFiles, StagedObject } from './object-files.ts';

export interface StreamParts {
  /** For what turns out to fit into one piece. */
  put(bytes: Uint8Array): Promise<string>;
  stage: ObjectFiles['stage'];
}

/** Hashing pieces of 64 KiB takes twice as long as pieces of 1 MiB. */
const PIECE = 1024 * 1024;

/** Answers the sha256 and the size. */
export async function putStream(
  chunks: AsyncIterable<Uint8Array>,
  { put, stage }: StreamParts,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createSha256();
  let piece: Buffer = Buffer.allocUnsafeSlow(PIECE);
  let other: Buffer | undefined;
  let used = 0;
  let size = 0;
  let written = 0;
  let staged: StagedObject | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Written and hashed at the same time; meanwhile the other piece is filled. */
  const writeOut = async (object: StagedObject): Promise<void> => {
    const full = piece.subarray(0, used);
    await writing;
    writing = object.write(full, written);
    writing.catch(() => {});
    hash.update(full);
    written += used;
    used = 0;
    [piece, other] = [other ?? Buffer.allocUnsafeSlow(PIECE), piece];
  };

  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      for (let at = 0; at < chunk.length; ) {
        if (used === PIECE) {
          staged ??= await stage();
          await writeOut(staged);
        }
        const part = chunk.subarray(at, at + PIECE - used);
        piece.set(part, used);
        used += part.length;
        at += part.length;
      }
    }
    if (!staged) return { sha256: await put(piece.subarray(0, used)), size };
    await writeOut(staged);
    await writing;
    const sha256 = hash.hex();
    await staged.commit(sha256, size);
    return { sha256, size };
  } catch (thrown) {
    await writing.catch(() => {});
    await staged?.discard().catch(() => {});
    throw thrown;
  }
}
