// Owns: a limit on the time that somebody takes for themselves: it stands still while others work for them.
// Refuses: to run on after it was stopped.

export interface OwnTime {
  /** Somebody else works; as often as this is said, `resume` has to be. */
  pause(): void;
  resume(): void;
  readonly running: boolean;
  /** So much from now on, whatever was left. */
  allow(ms: number): void;
  stop(): void;
}

/** Runs from now on. */
export function startOwnTime(limitMs: number, onOver: () => void): OwnTime {
  let left = limitMs;
  let since = 0;
  let pauses = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const run = (): void => {
    if (stopped || pauses > 0) return;
    since = performance.now();
    timer = setTimeout(onOver, Math.max(0, left));
  };
  run();
  return {
    pause() {
      pauses += 1;
      if (pauses > 1) return;
      clearTimeout(timer);
      left -= performance.now() - since;
    },
    resume() {
      pauses -= 1;
      run();
    },
    get running() {
      return !stopped && pauses === 0;
    },
    allow(ms) {
      clearTimeout(timer);
      left = ms;
      run();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
