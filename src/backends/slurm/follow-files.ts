// Owns: showing files that grow, from their beginning, until they are whole.
// Refuses: watching by the kernel: the writer is on another machine, and only reading tells.
import { type FileHandle, open } from 'node:fs/promises';

const LOOK_EVERY_MS = 150;

export interface Followed {
  readonly path: string;
  readonly onChunk: (chunk: Uint8Array) => void;
}

/** Ends by itself once `isWhole` was true before a last look. What it returns ends it earlier. */
export function followFiles(files: readonly Followed[], isWhole: () => boolean): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const offsets = files.map(() => 0);
  const look = async (): Promise<void> => {
    const last = isWhole();
    for (const [n, { path, onChunk }] of files.entries()) {
      await readFrom(path, offsets[n]!, (chunk) => {
        if (stopped) return;
        offsets[n]! += chunk.length;
        onChunk(chunk);
      });
    }
    if (!stopped && !last) timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  };
  void look();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Nothing where the file is not there yet. */
async function readFrom(path: string, start: number, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    for (let at = start; ; ) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(65_536), 0, 65_536, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      onChunk(buffer.subarray(0, bytesRead));
    }
  } catch {
    // Not there yet, or not readable for a moment; the next look tells.
  } finally {
    await file?.close();
  }
}
