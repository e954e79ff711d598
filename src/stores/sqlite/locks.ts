// Owns: write locks on paths, in turn, between all calls of all processes that share the workspace.
// Refuses: to be held by the dead, and to let anyone overtake someone who waits for the same path.
import type { LockStore } from '../../contract/store.ts';
import { isAlive } from '../process-identity.ts';
import { backoff, type Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';
import { type Blocker, createLockTable } from './lock-table.ts';

export interface Locks extends LockStore {
  /** Gives back whatever is still held. */
  releaseAll(): Promise<void>;
}

/**
 * Whoever comes takes a ticket for all of its paths at once, and holds them from the moment on at which no lower
 * ticket is for a path that conflicts. That is fair, cannot deadlock, and being granted needs no write: a waiter
 * looks at the one ticket just before it. If that is ours it is woken by its release, and it alone.
 */
export function createLocks(connection: Connection, group: GroupCommit, self: string): Locks {
  const table = createLockTable(connection, self);
  /** Our tickets, and who is to be woken when they go. */
  const ours = new Map<number, Set<() => void>>();

  const drop = async (ticket: number): Promise<void> => {
    const behind = ours.get(ticket);
    if (!behind) return;
    ours.delete(ticket);
    const removed = group.enqueue(() => table.remove(ticket));
    // Their look at the table is queued behind the removal: one transaction holds both.
    for (const wake of behind) wake();
    await removed.catch(() => removeLater(ticket));
  };

  /** A full disk must not keep a path locked for longer than the disk is full. */
  const removeLater = (ticket: number): void => {
    if (!group.takesWork) return;
    const again = (): unknown => group.enqueue(() => table.remove(ticket)).catch(() => removeLater(ticket));
    setTimeout(again, RETRY_MS).unref();
  };

  const waitFor = async (blocker: Blocker, signal: AbortSignal): Promise<void> => {
    const behind = ours.get(blocker.ticket);
    if (behind) return abortable(signal, (wake) => register(behind, wake));
    for (let tries = 0; ; tries++) {
      if (!isAlive(blocker.holder)) return group.enqueue(() => table.removeHolder(blocker.holder));
      await abortable(signal, (wake) => startTimer(wake, backoff(tries)));
      if (!(await connection.read(() => table.has(blocker.ticket)))) return;
    }
  };

  return {
    async acquire(paths, signal) {
      signal.throwIfAborted();
      if (paths.length === 0) return async () => {};
      let { ticket, blocker } = await group.enqueue(() => table.take(paths));
      ours.set(ticket, new Set());
      try {
        while (blocker) {
          await waitFor(blocker, signal);
          blocker = await group.enqueue(() => table.blockerOf(paths, ticket));
        }
        signal.throwIfAborted();
      } catch (thrown) {
        await drop(ticket);
        throw thrown;
      }
      let released: Promise<void> | undefined;
      return () => {
        // A ticket's number is given out again, so a second release must not look for it.
        released ??= drop(ticket);
        return released;
      };
    },
    async releaseAll() {
      await Promise.all([...ours.keys()].map(drop));
    },
  };
}

const RETRY_MS = 100;

/** Starts something that calls `wake` once, unless it is stopped. */
type Start = (wake: () => void) => () => void;

const startTimer = (wake: () => void, ms: number): (() => void) => {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
};

const register = (behind: Set<() => void>, wake: () => void): (() => void) => {
  behind.add(wake);
  return () => behind.delete(wake);
};

/** Resolves when woken, rejects with the signal's reason when that comes first. */
function abortable(signal: AbortSignal, start: Start): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      stop();
      signal.removeEventListener('abort', end);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const stop = start(end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
