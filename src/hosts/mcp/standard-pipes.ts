// Owns: a client's pipes: read and written directly until it was told the tools, Node's streams from then on.
// Refuses: to wait directly once anything else could happen: nothing does before the runtime is opened.
import { EventEmitter } from 'node:events';
import { readSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { onceEnding } from '../../preset/ending-signals.ts';

/** What is used of a stream that is read. */
export interface Input {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  once(event: 'end' | 'close' | 'error', listener: () => void): unknown;
  destroy(): unknown;
}

/** What is used of a stream that is written. */
export interface Output {
  on(event: 'error', listener: () => void): unknown;
  cork(): void;
  write(piece: string | Uint8Array): unknown;
  uncork(): void;
}

const CHUNK = 64 * 1024;

/**
 * Loading the streams takes longer than answering (3 ms of 5, measured), and every client asks for the tools first.
 * `isEarly` says whether it may still be read directly. Signals end the process at once until then, and the input
 * afterwards.
 */
export function standardPipes(isEarly: () => boolean): { readonly input: Input; readonly output: Output } {
  const heard = new EventEmitter();
  // Heard or not, an error is followed by the end.
  heard.on('error', () => {});
  let isOpen = true;
  let isStreamed = false;

  const read = (): void => {
    if (!isOpen) return;
    const chunk = isEarly() ? readNow() : undefined;
    if (chunk === undefined) return stream();
    if (chunk.length === 0) {
      heard.emit('end');
      return;
    }
    heard.emit('data', chunk);
    // By then the answers are written, and it is known whether the tools were asked for.
    setImmediate(read);
  };
  const stream = (): void => {
    isStreamed = true;
    onceEnding(() => process.stdin.destroy());
    for (const event of ['data', 'end', 'close', 'error'])
      process.stdin.on(event, (given: unknown) => heard.emit(event, given));
  };
  setImmediate(read);

  const onErrors: (() => void)[] = [];
  let written: Writable | undefined;
  const writable = (): Writable => {
    if (!written) {
      written = process.stdout;
      for (const listener of onErrors) written.on('error', listener);
    }
    return written;
  };
  return {
    input: {
      on: (event, listener) => heard.on(event, listener),
      once: (event, listener) => heard.once(event, listener),
      destroy() {
        isOpen = false;
        if (isStreamed) process.stdin.destroy();
        else heard.emit('close');
      },
    },
    output: {
      on: (_, listener) => onErrors.push(listener),
      cork: () => written?.cork(),
      uncork: () => written?.uncork(),
      write(piece) {
        const left = isStreamed || written ? piece : writeNow(piece);
        if (left.length > 0) writable().write(left);
      },
    },
  };
}

/** Waits for it. Undefined where it cannot be had this way: the stream knows how to wait, or what to say. */
function readNow(): Buffer | undefined {
  try {
    const chunk = Buffer.allocUnsafe(CHUNK);
    return chunk.subarray(0, readSync(0, chunk));
  } catch {
    return undefined;
  }
}

/** What could not be written this way. */
function writeNow(piece: string | Uint8Array): Uint8Array {
  let left = typeof piece === 'string' ? Buffer.from(piece) : piece;
  try {
    while (left.length > 0) left = left.subarray(writeSync(1, left));
  } catch {
    // The stream waits, or says that nobody reads any more.
  }
  return left;
}
