// Owns: how many of a call's reads and writes are under way at once.
// Refuses: order; whoever needs it waits for one before asking for the next.

export type Limit = <T>(job: () => Promise<T>) => Promise<T>;

/** Runs at most `most` jobs at a time; the others wait their turn. */
export function createLimit(most: number): Limit {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (job) => {
    if (running >= most) await new Promise<void>((turn) => queue.push(turn));
    else running++;
    try {
      return await job();
    } finally {
      // A waiting job takes over the place of this one.
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
