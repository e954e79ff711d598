// Owns: when each object that is a file was last used, so that a sweep in one process never takes what another one needs.
// Refuses: to write down every use: one that is a minute old is as good as a new one, since leases last for an hour.
import type { ObjectUses } from '../object-uses.ts';
import type { Connection } from './connection.ts';
import type { GroupCommit } from './group-commit.ts';

const TOUCH = `INSERT INTO object_uses (sha256, used_ts) VALUES (?, ?)
  ON CONFLICT (sha256) DO UPDATE SET used_ts = max(used_ts, excluded.used_ts)`;
const ALL = 'SELECT lower(hex(sha256)) AS sha256, used_ts AS usedTs FROM object_uses';
const USED_SINCE = 'SELECT 1 FROM object_uses WHERE sha256 = ? AND used_ts >= ?';
const FORGET = 'DELETE FROM object_uses WHERE sha256 = ?';

const REFRESH_MS = 60_000;
/** Of objects whose last use this process remembers by itself. */
const REMEMBERED = 20_000;

/** Whether a use is to be written down anew. */
export const isStale = (usedTs: number, now: number): boolean => now - usedTs >= REFRESH_MS || now < usedTs;

export function createObjectUses(
  connection: Connection,
  group: GroupCommit,
  clock: { now(): number },
): ObjectUses {
  const own = new Map<string, number>();
  const remember = (sha256: string, now: number): void => {
    own.delete(sha256);
    own.set(sha256, now);
    if (own.size > REMEMBERED) own.delete(own.keys().next().value!);
  };
  return {
    async touch(sha256s) {
      const now = clock.now();
      const stale = sha256s.filter((sha256) => isStale(own.get(sha256) ?? 0, now));
      if (stale.length === 0) return;
      await group.enqueue(() => {
        for (const sha256 of stale) connection.sql(TOUCH).run(key(sha256), now);
      });
      for (const sha256 of stale) remember(sha256, now);
    },
    all: () =>
      connection.read(
        () =>
          new Map(
            connection
              .sql(ALL)
              .all()
              .map((row) => [row.sha256 as string, row.usedTs as number]),
          ),
      ),
    release: (sha256s, unusedSince, remove) =>
      group.enqueue(() =>
        sha256s.filter((sha256) => {
          if (connection.sql(USED_SINCE).get(key(sha256), unusedSince) || !remove(sha256)) return false;
          connection.sql(FORGET).run(key(sha256));
          return true;
        }),
      ),
  };
}

const key = (sha256: string): Uint8Array => Buffer.from(sha256, 'hex');
