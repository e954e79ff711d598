// Owns: write locks on paths, in turn, between all calls of all processes that share the workspace.
// Refuses: to be held by the dead, and to let anyone overtake someone who waits for the same path.
import { parentOf } from '../../base/rel-path.ts';
import type { LockRequest, LockStore } from '../../contract/store.ts';
import { isAlive } from '../process-identity.ts';
import { backoff, type Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

interface Locks extends LockStore {
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

/** All but `has` run inside a transaction of the group. */
interface LockTable {
  take(paths: readonly LockRequest[]): { readonly ticket: number; readonly blocker: Blocker | undefined };
  /** The highest ticket below this one that conflicts with it. */
  blockerOf(paths: readonly LockRequest[], ticket: number): Blocker | undefined;
  has(ticket: number): boolean;
  remove(ticket: number): void;
  removeHolder(holder: string): void;
}

interface Blocker {
  readonly ticket: number;
  readonly holder: string;
}

const LAST_TICKET = 'SELECT max(ticket) AS ticket FROM locks';
const INSERT = `INSERT INTO locks (path, ticket, tree, holder) VALUES (?, ?, ?, ?)
  ON CONFLICT (path, ticket) DO UPDATE SET tree = max(tree, excluded.tree)`;
const HIGHEST_BELOW = 'AND ticket < ? ORDER BY ticket DESC LIMIT 1';
const ON_PATH = `SELECT ticket, holder FROM locks WHERE path = ? AND tree >= ? ${HIGHEST_BELOW}`;
const BELOW_PATH = `SELECT ticket, holder FROM locks WHERE path > ? AND path < ? ${HIGHEST_BELOW}`;
const ANYWHERE = `SELECT ticket, holder FROM locks WHERE TRUE ${HIGHEST_BELOW}`;

function createLockTable(connection: Connection, self: string): LockTable {
  const first = (text: string, ...values: (string | number)[]): Blocker | undefined =>
    connection.sql(text).get(...values) as Blocker | undefined;

  const blockersOf = ({ path, tree }: LockRequest, ticket: number): (Blocker | undefined)[] => {
    const found = [first(ON_PATH, path, 0, ticket)];
    for (const above of ancestors(path)) found.push(first(ON_PATH, above, 1, ticket));
    if (tree && path === '.') found.push(first(ANYWHERE, ticket));
    // '0' is the character after '/'.
    else if (tree) found.push(first(BELOW_PATH, `${path}/`, `${path}0`, ticket));
    return found;
  };

  const blockerOf: LockTable['blockerOf'] = (paths, ticket) => {
    let highest: Blocker | undefined;
    for (const path of paths) {
      for (const blocker of blockersOf(path, ticket)) {
        if (blocker && blocker.ticket > (highest?.ticket ?? 0)) highest = blocker;
      }
    }
    return highest;
  };

  return {
    take(paths) {
      const ticket = ((connection.sql(LAST_TICKET).get()?.ticket as number | null) ?? 0) + 1;
      for (const { path, tree } of paths) connection.sql(INSERT).run(path, ticket, tree ? 1 : 0, self);
      return { ticket, blocker: blockerOf(paths, ticket) };
    },
    blockerOf,
    has: (ticket) => connection.sql('SELECT 1 FROM locks WHERE ticket = ? LIMIT 1').get(ticket) !== undefined,
    remove(ticket) {
      connection.sql('DELETE FROM locks WHERE ticket = ?').run(ticket);
    },
    removeHolder(holder) {
      connection.sql('DELETE FROM locks WHERE holder = ?').run(holder);
    },
  };
}

/** Every folder above a path, up to the root, which is above everything. */
function ancestors(path: string): readonly string[] {
  if (path === '.') return [];
  const above = parentOf(path);
  return above === '' || above === '.' ? ['.'] : [above, ...ancestors(above)];
}
