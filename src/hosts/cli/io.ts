// Owns: the terminal, or the pipe, that this process was started with.
// Refuses: to decide what is printed.
import { fstatSync, readSync, writeSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';
import type { Io } from './command.ts';

export function processIo(): Io {
  let controller: AbortController | undefined;
  return {
    out: (text) => writeAll(1, text),
    err: (text) => writeAll(2, text),
    get tty() {
      return isTerminal(1);
    },
    get columns() {
      return process.stdout.columns ?? 80;
    },
    readStdin: (limit) => readAll(limit),
    get signal() {
      if (!controller) {
        const made = new AbortController();
        controller = made;
        process.once('SIGINT', () => made.abort());
        process.once('SIGTERM', () => made.abort());
      }
      return controller.signal;
    },
  };
}

/** Synchronous, so that nothing is lost when the process ends; `process.stdout` would also cost start-up time. */
function writeAll(fd: number, text: string): void {
  let bytes: Uint8Array = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes));
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EAGAIN') continue;
      if (code === 'EPIPE') return;
      throw thrown;
    }
  }
}

const isTerminal = (fd: number): boolean => {
  try {
    return fstatSync(fd).isCharacterDevice() && process.stdout.isTTY === true;
  } catch {
    return false;
  }
};

async function readAll(limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(256 * 1024);
    const count = readSync(0, chunk, 0, chunk.length, null);
    if (count === 0) return Buffer.concat(chunks);
    total += count;
    if (total > limit) {
      throw fail('input.too_large', `Cannot read standard input: it is over the limit of ${limit} bytes`, {
        limit,
      });
    }
    chunks.push(chunk.subarray(0, count));
  }
}
