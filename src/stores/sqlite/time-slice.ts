// Owns: how much of the event loop's time long work takes: a little, and more of it the further it is behind.
// Refuses: to hold one turn for long, however far behind.

export interface TimeSlice {
  /** Ends the turn where this work had its share of it; else goes on at once. */
  pause(): Promise<void> | undefined;
  /** How many times the least this work may do in a turn, 1 or more. */
  readonly haste: number;
}

/** What a call that comes meanwhile may have to wait. */
const SHORTEST_MS = 2;
const LONGEST_MS = 12;

/**
 * With `share` 1 it takes as long as all others together took since its last turn, with 0.1 a tenth of that. Where nobody
 * else wants anything, turns follow each other at once, and short ones do.
 */
export function createTimeSlice(share: number): TimeSlice {
  let mine = SHORTEST_MS;
  let since = performance.now();
  return {
    get haste() {
      return Math.floor(mine / SHORTEST_MS);
    },
    pause() {
      const left = performance.now();
      if (left - since < mine) return undefined;
      return new Promise((resolve) => {
        setImmediate(() => {
          since = performance.now();
          mine = turnMs(share, since - left);
          resolve();
        });
      });
    },
  };
}

/** How long the next turn may be, after others took so long. */
export const turnMs = (share: number, othersMs: number): number =>
  Math.min(LONGEST_MS, Math.max(SHORTEST_MS, share * othersMs));
