// Owns: time and chance as adapters use them, so that tests can bring their own.
// Refuses: timers that outlive the signal that they wait under.

export interface Pace {
  /** Milliseconds that never run backwards. */
  now(): number;
  /** From 0 up to and without 1. */
  random(): number;
  /** Rejects with the signal's reason where that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const SYSTEM_PACE: Pace = {
  now: () => performance.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, ms);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
    }),
};

/** The promise, or the signal's reason where that comes first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
