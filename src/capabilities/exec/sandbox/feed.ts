// Owns: bringing input to a program's stdin, and telling it where the input ends.
// Refuses: to end a pipe as a socket is ended (it cannot be shut down half); closing it is the end.
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { SandboxSpec } from '../../../contract/sandbox.ts';

/** Settles when all was taken or the program is gone. A source that fails looks like one that ends. */
export async function feed(stdin: Socket, input: NonNullable<SandboxSpec['stdin']>): Promise<void> {
  const chunks = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  try {
    for await (const chunk of chunks) {
      if (stdin.destroyed) break;
      await written(stdin, chunk);
    }
  } finally {
    stdin.destroy();
  }
}

/** The socket for a caller: `end()` closes it once everything is written. */
export function writableTo(stdin: Socket): Writable {
  const writable = new Writable({
    write: (chunk, _encoding, done) => void written(stdin, chunk).then(() => done()),
    final(done) {
      stdin.destroy();
      done();
    },
    destroy(error, done) {
      stdin.destroy();
      done(error);
    },
  });
  stdin.once('close', () => writable.destroy());
  return writable;
}

/** A program that is gone takes nothing more; that is no error of the writer. */
function written(stdin: Socket, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (stdin.destroyed || chunk.length === 0) return resolve();
    const done = () => {
      stdin.removeListener('close', done);
      resolve();
    };
    stdin.once('close', done);
    stdin.write(chunk, done);
  });
}
