// Owns: time and chance as adapters use them, so that tests can bring their own.
// Refuses: timers that outlive the signal that they wait under.

export interface Scheduler {
  /** Milliseconds that never run backwards. */
  now(): number;
  /** From 0 up to and without 1. */
  random(): number;
  /** Rejects with the signal's reason where that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const SYSTEM_SCHEDULER: Scheduler = {
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
