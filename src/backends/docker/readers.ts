// Owns: those who read the logs of containers, so that no log is taken away under them.
// Refuses: to wait for a reader for ever: a log that does not end with its container is cut.

export interface Readers {
  add(attemptId: string, reading: Promise<unknown>): void;
  /** Settles when nobody reads any more, or has read for long enough. */
  done(attemptId: string): Promise<void>;
}

const LONGEST_MS = 2000;

export function createReaders(): Readers {
  const all = new Map<string, Set<Promise<unknown>>>();
  return {
    add(attemptId, reading) {
      const own = all.get(attemptId) ?? new Set();
      all.set(attemptId, own.add(reading));
      const leave = () => {
        own.delete(reading);
        if (own.size === 0) all.delete(attemptId);
      };
      reading.then(leave, leave);
    },
    async done(attemptId) {
      const own = all.get(attemptId);
      if (!own) return;
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, LONGEST_MS);
      await Promise.race([Promise.allSettled(own), late]);
      clearTimeout(timer);
    },
  };
}
