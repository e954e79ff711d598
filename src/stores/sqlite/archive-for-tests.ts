// Owns: what tests of archived audits share: small segments, and moving all that is due.
// Refuses: cases.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SqliteEnvironment } from './environment-for-tests.ts';

export const SEGMENT = 8;
export const ALL = { rows: 1, since: 0 };

export async function archiveAll({ store }: Pick<SqliteEnvironment, 'store'>, keep = ALL): Promise<number> {
  let moved = 0;
  for (;;) {
    const rows = await store.retention.archive(keep);
    if (rows === 0) return moved;
    moved += rows;
  }
}

export const segmentsOf = async (env: SqliteEnvironment): Promise<readonly string[]> =>
  (await readdir(join(env.folder, 'audit'))).sort();
