// Owns: time and chance as health uses them, so that tests can bring their own.
// Refuses: a timer that keeps a process alive while nobody waits.
import type { Clock } from '../../contract/runtime.ts';

export interface HealthTiming extends Clock {
  /** From 0 up to and without 1. */
  random(): number;
  /**
   * Runs it after so many milliseconds, unless the function that is answered was called before. `awaited`: somebody
   * waits for it, so that the process must not end before.
   */
  after(ms: number, run: () => void, awaited?: boolean): () => void;
}

export function systemTiming(clock: Clock): HealthTiming {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => Math.random(),
    after(ms, run, awaited = false) {
      const timer = setTimeout(run, ms);
      if (!awaited) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}
