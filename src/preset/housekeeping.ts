// Owns: a long-lived host that cleans up by itself: when nobody calls, and in small steps where that never happens.
// Refuses: to do so beside another host of the same workspace, and to fail a call or a host.
import { SHORTEST_LEASE_MS } from '../contract/artifacts.ts';
import { toErrorEntry } from '../contract/errors.ts';
import { type CleanUpSite, type Keeps, keepsOf } from './retention.ts';

export interface Housekeeping {
  /** Waits for the step under way. */
  close(): Promise<void>;
}

export interface HousekeepingParts extends CleanUpSite {
  /** How many rows the audit has: whether somebody called since. */
  head(): Promise<number>;
  /** Told what went wrong, once. */
  readonly onWarning: (message: string) => void;
  readonly everyMs?: number;
}

const EVERY_MS = 5000;

/** Undo and objects are looked at so often, by whoever is at it. */
const SWEEP_EVERY_MS = 10 * 60_000;

const FIRST_SWEEP_MS = 60_000;

/** In one go: under unbroken load undo and objects have their turn as well. */
const MOST_SEGMENTS = 16;

/** Between two goes where more is due already. */
const BEHIND_MS = 100;

/** So many times what is kept, and a host that is never idle archives all the same. */
const PATIENCE = 2;

/** A used part of this size is written anew in a third of a second. */
const LARGEST_SHRUNK = 48 * 1024 * 1024;

export function keepHouse(parts: HousekeepingParts): Housekeeping {
  const { retention, clock, policy, onWarning, everyMs = EVERY_MS } = parts;
  let seen = -1;
  // The first is not long after the start: most hosts do not live for long.
  let swept = clock.now() - SWEEP_EVERY_MS + FIRST_SWEEP_MS;
  let closed = false;
  let warned = false;
  let timer: NodeJS.Timeout;
  let underWay: Promise<void> = Promise.resolve();

  const sweep = async ({ undo }: Keeps): Promise<void> => {
    await retention.giveUp(undo);
    if (closed) return;
    await (await parts.artifacts()).sweep({ unusedForMs: SHORTEST_LEASE_MS, keepArtifacts: true });
  };

  /** Answers whether more is due at once. */
  const step = async (): Promise<boolean> => {
    const count = await parts.head();
    const idle = count === seen;
    seen = count;
    const file = policy();
    if (!file) return false;
    const keeps = keepsOf(file, clock.now());
    const { audit } = keeps;
    const wanted = idle ? audit : { rows: audit.rows * PATIENCE, since: 0 };
    const due = (await retention.archivable(wanted)) > 0;
    const overdue = clock.now() - swept >= (idle ? SWEEP_EVERY_MS : PATIENCE * SWEEP_EVERY_MS);
    if (!due && !overdue) return false;
    if (!(await retention.claim())) return false;
    try {
      let segments = 0;
      while (segments < MOST_SEGMENTS && !closed && (await retention.archive(wanted)) > 0) segments++;
      if (!closed && overdue) {
        swept = clock.now();
        await sweep(keeps);
      }
      if (!closed && idle) await retention.shrink({ largest: LARGEST_SHRUNK });
      return segments === MOST_SEGMENTS;
    } finally {
      await retention.release();
    }
  };

  const tick = (): void => {
    const stepping = step().catch((thrown: unknown) => {
      if (!closed && !warned) onWarning(toErrorEntry(thrown).message);
      warned = true;
      return false;
    });
    underWay = stepping.then((isBehind) => {
      if (!closed) timer = setTimeout(tick, isBehind ? Math.min(BEHIND_MS, everyMs) : everyMs).unref();
    });
  };
  timer = setTimeout(tick, everyMs).unref();

  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await underWay;
    },
  };
}
