// Owns: removing objects while other processes store and touch theirs.
// Refuses: to hold the database for longer than a few renames: the bytes themselves go afterwards.
import { rm } from 'node:fs/promises';
import type { ObjectUses } from '../object-uses.ts';
import type { SmallObjects } from '../small-objects.ts';
import type { ObjectFiles } from './object-files.ts';

export interface Tiers {
  readonly files: Pick<ObjectFiles, 'bury'>;
  readonly small: SmallObjects | undefined;
  readonly uses: ObjectUses | undefined;
}

/** Objects of one transaction. */
const BATCH = 64;

/** Answers those that are gone. */
export async function discardObjects(
  sha256s: readonly string[],
  unusedSince: number,
  { files, small, uses }: Tiers,
): Promise<readonly string[]> {
  const gone = new Set<string>();
  for (let at = 0; at < sha256s.length; at += BATCH) {
    const batch = sha256s.slice(at, at + BATCH);
    for (const sha256 of (await small?.release(batch, unusedSince)) ?? []) gone.add(sha256);
    const graves: string[] = [];
    const bury = (sha256: string): boolean => {
      const grave = files.bury(sha256);
      if (grave !== undefined) graves.push(grave);
      return grave !== undefined;
    };
    for (const sha256 of (await uses?.release(batch, unusedSince, bury)) ?? []) gone.add(sha256);
    for (const grave of graves) await rm(grave, { force: true });
  }
  return [...gone];
}
