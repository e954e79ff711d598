// Owns: the last bytes of a file that a program wrote, however long it is.
// Refuses: to fail where there is none: nothing was written then.
import { open } from 'node:fs/promises';

/** More than what is shown of it, since some of that is left out. */
export const TAIL_BYTES = 8192;

export async function readTail(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return new Uint8Array();
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(TAIL_BYTES),
      0,
      TAIL_BYTES,
      Math.max(0, size - TAIL_BYTES),
    );
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
