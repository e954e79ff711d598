// Owns: an attempt from the side of who waits for it: its end, its cancellation, and its words as they come.
// Refuses: to decide anything about the attempt.
import { readFile } from 'node:fs/promises';
import type { Attempt, AttemptEnd, BackendHandle } from '../../contract/backend.ts';
import { attemptFiles } from './attempt-folder.ts';
import { followLog } from './attempt-log.ts';
import { containerName } from './container-spec.ts';
import type { EngineApi } from './engine-api.ts';
import type { Readers } from './readers.ts';

type OnChunk = Parameters<BackendHandle['follow']>[0];

export function attemptHandle(
  { api, readers }: { readonly api: EngineApi; readonly readers: Readers },
  attempt: Attempt,
  ended: Promise<AttemptEnd>,
  cancel: () => Promise<void>,
): BackendHandle {
  let isOver = false;
  const settled = () => {
    isOver = true;
  };
  ended.then(settled, settled);
  const read = async (onChunk: OnChunk, signal: AbortSignal) => {
    const guarded: OnChunk = (stream, chunk) => {
      if (!signal.aborted) onChunk(stream, chunk);
    };
    // Once it is over its log is kept; the container is going, and some engines then answer an empty log.
    if (!isOver && (await followLog(api, containerName(attempt.id), guarded, signal))) return;
    await ended;
    guarded('stdout', await readFile(attemptFiles(attempt.folder).log));
  };
  return {
    attemptId: attempt.id,
    wait: (signal) => unlessAborted(ended, signal),
    cancel,
    follow(onChunk) {
      const stop = new AbortController();
      readers.add(
        attempt.id,
        read(onChunk, stop.signal).catch(() => {}),
      );
      return () => stop.abort();
    },
  };
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', abort));
}
