// Owns: what waits to be read by a background shell.
// Refuses: to hold more than a program that does not read should be sent.
import { fail } from '../../../contract/errors.ts';

export interface StdinQueue {
  readonly closed: boolean;
  /** Throws `shell.full` where there is none for so many bytes. */
  room(bytes: number): void;
  push(bytes: Uint8Array): void;
  /** After what was pushed. */
  close(): void;
  /** For one reader. */
  chunks(): AsyncIterable<Uint8Array>;
}

const MOST_BYTES = 4 * 1024 * 1024;

export function createStdinQueue(): StdinQueue {
  const queue: Uint8Array[] = [];
  let waiting = 0;
  let closed = false;
  let more = Promise.withResolvers<void>();
  const wake = () => {
    more.resolve();
    more = Promise.withResolvers();
  };
  return {
    get closed() {
      return closed;
    },
    room(bytes) {
      if (waiting > 0 && waiting + bytes > MOST_BYTES)
        throw fail(
          'shell.full',
          `Cannot write to the shell: it has not read ${waiting} bytes of earlier input`,
        );
    },
    push(bytes) {
      queue.push(bytes);
      waiting += bytes.length;
      wake();
    },
    close() {
      closed = true;
      wake();
    },
    async *chunks() {
      for (;;) {
        const changed = more.promise;
        for (let chunk = queue.shift(); chunk; chunk = queue.shift()) {
          yield chunk;
          waiting -= chunk.length;
        }
        if (closed) return;
        await changed;
      }
    },
  };
}
