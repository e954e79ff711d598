// Owns: the tickets for paths as rows, and which ticket stands in the way of which.
// Refuses: to wait; locks.ts does.
import { parentOf } from '../../base/rel-path.ts';
import type { LockRequest } from '../../contract/store.ts';
import type { Connection } from './connection.ts';

/** All but `has` run inside a transaction of the group. */
export interface LockTable {
  take(paths: readonly LockRequest[]): { readonly ticket: number; readonly blocker: Blocker | undefined };
  /** The highest ticket below this one that conflicts with it. */
  blockerOf(paths: readonly LockRequest[], ticket: number): Blocker | undefined;
  has(ticket: number): boolean;
  remove(ticket: number): void;
  removeHolder(holder: string): void;
}

export interface Blocker {
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

export function createLockTable(connection: Connection, self: string): LockTable {
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
