// Owns: the one end of a request: its time limit, its caller, its call.
// Refuses: to leave a timer or a listener behind.
import { orAborted } from '../../base/or-aborted.ts';
import { fail } from '../../contract/errors.ts';

export interface RequestDeadline {
  /** Its reason is a failure of the table, or what a caller's own signal says. */
  readonly signal: AbortSignal;
  /** Milliseconds. */
  remaining(): number;
  sleep(ms: number): Promise<void>;
  /** Rejects with the signal's reason where that comes first. */
  race<T>(promise: Promise<T>): Promise<T>;
  clear(): void;
}

export function startRequestDeadline(
  timeoutMs: number,
  place: string,
  callers: readonly (AbortSignal | undefined)[],
): RequestDeadline {
  const controller = new AbortController();
  const { signal } = controller;
  const end = performance.now() + timeoutMs;
  const timer = setTimeout(
    () =>
      controller.abort(
        fail('time.deadline', `Cannot request ${place}: it took longer than ${timeoutMs} ms`, {
          timeout_ms: timeoutMs,
        }),
      ),
    timeoutMs,
  );
  const undo = callers.map((caller) => {
    const follow = () => controller.abort(reasonOf(caller, place));
    if (caller?.aborted) follow();
    else caller?.addEventListener('abort', follow, { once: true });
    return () => caller?.removeEventListener('abort', follow);
  });
  const race = <T>(promise: Promise<T>): Promise<T> => orAborted(promise, signal);
  return {
    signal,
    remaining: () => end - performance.now(),
    race,
    async sleep(ms) {
      if (ms <= 0) return;
      let timeout: NodeJS.Timeout | undefined;
      try {
        await race(
          new Promise<void>((resolve) => {
            timeout = setTimeout(resolve, ms);
          }),
        );
      } finally {
        clearTimeout(timeout);
      }
    },
    clear() {
      clearTimeout(timer);
      for (const one of undo) one();
    },
  };
}

/** A signal that a stranger made says nothing in our words. */
function reasonOf(caller: AbortSignal | undefined, place: string): unknown {
  const reason = caller?.reason;
  if (reason instanceof Error && 'reason' in reason) return reason;
  return fail('time.cancelled', `Cannot request ${place}: the caller cancelled it`);
}
