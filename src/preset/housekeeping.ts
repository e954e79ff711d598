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

const EVERY_MS = 1000;

/** After so many looks at an audit that does not grow nobody calls. */
const IDLE_LOOKS = 5;

/** Undo and objects are looked at so often, by whoever is at it. */
const SWEEP_EVERY_MS = 10 * 60_000;

const FIRST_SWEEP_MS = 60_000;

/** A sweep looks at every object: of the time of a host this is the tenth. */
const SWEEP_REST = 9;

/** Goes of archiving after which policy is asked again, and how soon the next ones follow under load. */
const MOST_GOES = 8;
const BEHIND_MS = 100;

/** So many times what is kept, and a host that is never idle archives all the same. */
const PATIENCE = 2;

/** A used part of this size is written anew in a third of a second. */
const LARGEST_SHRUNK = 48 * 1024 * 1024;

export function keepHouse(parts: HousekeepingParts): Housekeeping {
  const { retention, clock, policy, onWarning, everyMs = EVERY_MS } = parts;
  let seen = -1;
  let quiet = 0;
  // The first is not long after the start: most hosts do not live for long.
  let swept = clock.now() - SWEEP_EVERY_MS + FIRST_SWEEP_MS;
  let rested = 0;
  let sweeping: Promise<void> | undefined;
  let holds = 0;
  let closed = false;
  let warned = false;
  let timer: NodeJS.Timeout;

  const warn = (thrown: unknown): void => {
    if (!closed && !warned) onWarning(toErrorEntry(thrown).message);
    warned = true;
  };

  /** Archiving and sweeping are under way beside each other: the last of the two releases. */
  const claimed = async (work: () => Promise<void>): Promise<void> => {
    holds++;
    try {
      if (await retention.claim()) await work();
    } finally {
      holds--;
      if (holds === 0) await retention.release();
    }
  };

  const shrinkWhenIdle = async (): Promise<void> => {
    if (!closed && quiet >= IDLE_LOOKS) await retention.shrink({ largest: LARGEST_SHRUNK });
  };

  const sweep = async ({ undo }: Keeps): Promise<void> => {
    const began = performance.now();
    swept = clock.now();
    await retention.giveUp(undo);
    if (!closed)
      await (await parts.artifacts()).sweep({ unusedForMs: SHORTEST_LEASE_MS, keepArtifacts: true });
    const now = performance.now();
    rested = now + SWEEP_REST * (now - began);
    await shrinkWhenIdle();
  };

  /** Answers whether more is due at once. */
  const look = async (): Promise<boolean> => {
    const count = await parts.head();
    quiet = count === seen ? quiet + 1 : 0;
    seen = count;
    const idle = quiet >= IDLE_LOOKS;
    const file = policy();
    // Where nobody calls, what is kept comes of age slowly.
    if (!file || quiet % IDLE_LOOKS !== 0) return false;
    const keeps = keepsOf(file, clock.now());
    const { audit } = keeps;
    const wanted = idle ? audit : { rows: audit.rows * PATIENCE, since: 0 };
    const due = (await retention.archivable(wanted)) > 0;
    const overdue =
      !sweeping &&
      performance.now() >= rested &&
      clock.now() - swept >= (idle ? SWEEP_EVERY_MS : PATIENCE * SWEEP_EVERY_MS);
    // Not waited for: a sweep of many objects takes long, and calls leave rows meanwhile.
    if (overdue)
      sweeping = claimed(() => sweep(keeps))
        .catch(warn)
        .finally(() => {
          sweeping = undefined;
        });
    if (!due) return false;
    let goes = 0;
    await claimed(async () => {
      while (goes < MOST_GOES && !closed && (await retention.archive(wanted)) > 0) goes++;
      if (!sweeping) await shrinkWhenIdle();
    });
    return goes === MOST_GOES;
  };

  const tick = async (): Promise<void> => {
    const isBehind = await look().catch((thrown: unknown) => {
      warn(thrown);
      return false;
    });
    if (closed) return;
    const inMs = isBehind && quiet === 0 ? Math.min(BEHIND_MS, everyMs) : everyMs;
    timer = setTimeout(() => {
      looking = tick();
    }, inMs).unref();
  };
  let looking = tick();

  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await looking;
      await sweeping;
    },
  };
}
