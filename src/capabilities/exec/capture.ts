// Owns: the output of a program: its beginning for the answer, all of it as an artifact when it is longer.
// Refuses: to hold more than the beginning in memory; the program waits while the rest is written.
import { type BoundedBuffer, createBoundedBuffer } from '../../base/bounded-buffer.ts';
import type { CapturedStream } from '../../contract/exec.ts';
import type { ObjectId, ObjectStore } from '../../contract/object-store.ts';

type Spills = Pick<ObjectStore, 'putStream'>;

export interface Capture {
  /** Pending while the artifact cannot take more. */
  push(chunk: Uint8Array): void | Promise<void>;
  finish(): Promise<CapturedStream>;
}

export function createCapture(cap: number, objects: Spills): Capture {
  const kept: BoundedBuffer = createBoundedBuffer(cap);
  let spill: Spill | undefined;
  return {
    push(chunk) {
      const rest = kept.push(chunk);
      if (rest.length === 0) return;
      spill ??= startSpill(kept.bytes(), objects);
      return spill.push(rest);
    },
    async finish() {
      const artifact = await spill?.finish();
      return { bytes: kept.bytes(), total: kept.total, ...(artifact ? { artifact } : {}) };
    },
  };
}

interface Spill {
  push(chunk: Uint8Array): Promise<void>;
  finish(): Promise<ObjectId>;
}

/** Hands chunks to `putStream` one at a time: whoever pushes waits until the last one was taken. */
function startSpill(beginning: Uint8Array, objects: Spills): Spill {
  let next = Promise.withResolvers<Uint8Array | undefined>();
  let taken = Promise.withResolvers<void>();
  let broken: { readonly error: unknown } | undefined;
  let last: Promise<void> = Promise.resolve();
  async function* chunks() {
    yield beginning;
    for (;;) {
      const chunk = await next.promise;
      next = Promise.withResolvers();
      taken.resolve();
      if (!chunk) return;
      yield chunk;
    }
  }
  const stored = objects.putStream(chunks());
  stored.catch((error) => {
    broken = { error };
    taken.reject(error);
  });
  taken.promise.catch(() => {});
  const give = (chunk: Uint8Array | undefined): Promise<void> => {
    if (broken) throw broken.error;
    taken = Promise.withResolvers();
    next.resolve(chunk);
    return taken.promise;
  };
  // In order, also for those who do not wait: a stream may be over before its last piece was taken.
  const hand = (chunk: Uint8Array | undefined): Promise<void> => {
    last = last.then(() => give(chunk));
    last.catch(() => {});
    return last;
  };
  return {
    push: (chunk) => hand(Uint8Array.from(chunk)),
    async finish() {
      await hand(undefined);
      return (await stored).id;
    },
  };
}
