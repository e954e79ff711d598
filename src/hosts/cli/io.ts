// Owns: the terminal, or the pipe, that this process was started with.
// Refuses: to decide what is printed.
import { fstatSync, readSync, writeSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';
import { printable } from '../../contract/terminal-text.ts';
import { onceEnding } from '../../preset/ending-signals.ts';
import type { Io } from './command.ts';

export function processIo(): Io {
  let controller: AbortController | undefined;
  let listening = false;
  const abort = () => {
    controller ??= new AbortController();
    controller.abort();
  };
  return {
    out(text) {
      // Nobody reads any more, as in `haft audit tail | head`: whatever goes on until it is told to stop is told to.
      if (!writeAll(1, Buffer.from(printable(text)))) abort();
    },
    bytes(bytes) {
      if (!writeAll(1, bytes)) abort();
    },
    err: (text) => void writeAll(2, Buffer.from(printable(text))),
    errBytes: (bytes) => void writeAll(2, bytes),
    get tty() {
      return isTerminal(1);
    },
    get errTty() {
      return isTerminal(2);
    },
    get columns() {
      return process.stdout.columns || process.stderr.columns || 80;
    },
    readStdin: (limit) => readAll(limit),
    async *stdin() {
      const piece = Buffer.allocUnsafe(PIECE);
      for (let count = readSome(piece); count > 0; count = readSome(piece)) yield piece.subarray(0, count);
    },
    get askSecret() {
      if (!process.getBuiltinModule('node:tty').isatty(0)) return undefined;
      return async (question: string) => (await import('./ask.ts')).askSecret(question);
    },
    get ask() {
      const { isatty } = process.getBuiltinModule('node:tty');
      if (!isatty(0) || !isatty(2)) return undefined;
      return async (question: string) => (await import('./ask.ts')).ask(question);
    },
    get signal() {
      controller ??= new AbortController();
      if (!listening) {
        listening = true;
        onceEnding(abort);
      }
      return controller.signal;
    },
  };
}

/**
 * Answers false when the reader is gone. Synchronous, so that nothing is lost when the process ends; `process.stdout`
 * would also cost start-up time.
 */
function writeAll(fd: number, all: Uint8Array): boolean {
  let bytes = all;
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes));
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      // Where complaints cannot be written there is nobody left to tell.
      if (code === 'EPIPE' || (fd === 2 && code !== 'EAGAIN')) return false;
      if (code === 'ENOSPC') throw fail('file.no_space', 'Cannot print the answer: the disk is full');
      if (code !== 'EAGAIN') throw fail('file.io', `Cannot print the answer: the system reports ${code}`);
      pause();
    }
  }
  return true;
}

/** For a pipe that its other end has made non-blocking. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}

const PIECE = 256 * 1024;

const isTerminal = (fd: number): boolean => {
  try {
    const stat = fstatSync(fd);
    // Major 1 is /dev/null and its like; asking `process.stdout` would cost a tenth of a cold start.
    const mayBe = stat.isCharacterDevice() && ((stat.rdev >> 8) & 0xfff) !== 1;
    return mayBe && process.getBuiltinModule('node:tty').isatty(fd);
  } catch {
    return false;
  }
};

async function readAll(limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(PIECE);
    const count = readSome(chunk);
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

function readSome(chunk: Uint8Array): number {
  for (;;) {
    try {
      return readSync(0, chunk, 0, chunk.length, null);
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EISDIR') throw fail('usage', 'Cannot read standard input: it is a directory');
      if (code !== 'EAGAIN') throw fail('file.io', `Cannot read standard input: the system reports ${code}`);
      pause();
    }
  }
}
