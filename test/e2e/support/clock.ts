// Owns: a clock that a test moves, for everything that ends with time.
// Refuses: to move by itself; durations still come from the real one.

export interface TestClock {
  now(): number;
  monotonic(): number;
  advance(ms: number): void;
}

export function makeClock(start = Date.UTC(2030, 0, 1)): TestClock {
  let time = start;
  return {
    now: () => time,
    monotonic: () => performance.now(),
    advance(ms) {
      time += ms;
    },
  };
}
