// Owns: which paths programs that run for a call are kept from now, in whatever process: a fence lies on the very file, and goes away when
// another is put in its place.
// Refuses: to write that down; exec/fences/placeholders.ts does, before each program.
import { constants, existsSync, lstatSync, readdirSync } from 'node:fs';
import { ignoreErrors } from '../base/ignore-errors.ts';
import { parentOf } from '../base/rel-path.ts';
import { readText } from './git-folders.ts';

/**
 * Whether a program is kept from this absolute path, by this workspace or by another of this user that holds the path: one in
 * it, or one around it. Looks once into each folder.
 */
export function createFenceLook(
  workspace: string,
  isAlive?: (process: string) => boolean,
  hasOwnState: (folder: string) => boolean = holdsOwnState,
): (path: string) => boolean {
  const known = new Map<string, ReadonlySet<string>>();
  const lookIn = (folder: string): ReadonlySet<string> => {
    const seen = known.get(folder);
    if (seen) return seen;
    const found = folder === workspace || hasOwnState(folder) ? fencesInUse(folder, isAlive) : NONE;
    known.set(folder, found);
    return found;
  };
  return (path) => {
    if (lookIn(workspace).has(path)) return true;
    for (let folder = parentOf(path); ; folder = parentOf(folder)) {
      if (lookIn(folder).has(path)) return true;
      if (folder === '') return false;
    }
  };
}

/** Whether a folder holds state of this user: a stranger's records could keep everybody from everything. */
export function holdsOwnState(folder: string): boolean {
  const stat = ignoreErrors(() => lstatSync(`${folder}/.haft`, { throwIfNoEntry: false }));
  return stat?.isDirectory() === true && stat.uid === process.geteuid?.();
}

/** Absolute paths. `isAlive` tells whether a process still runs; without it, all count as running. */
export function fencesInUse(workspace: string, isAlive?: (process: string) => boolean): ReadonlySet<string> {
  const folder = `${workspace}/.haft/placeholders`;
  // Nearly always: what is not there costs less to ask for than to be told by an error.
  if (!existsSync(folder)) return NONE;
  const names = ignoreErrors(() => readdirSync(folder))?.filter((name) => name.startsWith('f-')) ?? [];
  return new Set(
    names.flatMap((name) => {
      const said = readRecord(`${folder}/${name}`);
      if (typeof said?.process !== 'string' || isAlive?.(said.process) === false) return [];
      return (said.entries ?? []).map(({ path }) => path);
    }),
  );
}

/** What one process has written down. Only a file: nobody waits for a pipe or a device that lies in its place. */
export const readRecord = (path: string): Partial<FenceRecord> | undefined =>
  ignoreErrors(() => JSON.parse(readText(path, { maxBytes: MAX_BYTES, flags: constants.O_NOFOLLOW }) ?? ''));

/** More than any record. */
const MAX_BYTES = 64 * 1024 * 1024;

interface FenceRecord {
  readonly process: string;
  readonly entries: readonly { readonly path: string }[];
}

const NONE: ReadonlySet<string> = new Set();
