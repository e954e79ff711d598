// Owns: which paths programs that run for a call are kept from now, in whatever process: a fence lies on the very file, and goes away when
// another is put in its place.
// Refuses: to write that down; exec/fences/placeholders.ts does, before each program.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { parentOf } from '../base/rel-path.ts';

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
  const stat = quietly(() => lstatSync(`${folder}/.haft`, { throwIfNoEntry: false }));
  return stat?.isDirectory() === true && stat.uid === process.geteuid?.();
}

/** Absolute paths. `isAlive` tells whether a process still runs; without it, all count as running. */
export function fencesInUse(workspace: string, isAlive?: (process: string) => boolean): ReadonlySet<string> {
  const folder = `${workspace}/.haft/placeholders`;
  // Nearly always: what is not there costs less to ask for than to be told by an error.
  if (!existsSync(folder)) return NONE;
  const names = quietly(() => readdirSync(folder))?.filter((name) => name.startsWith('f-')) ?? [];
  return new Set(
    names.flatMap((name) => {
      const said = quietly(() => JSON.parse(readRecord(`${folder}/${name}`)) as Partial<Said>);
      if (typeof said?.process !== 'string' || isAlive?.(said.process) === false) return [];
      return (said.entries ?? []).map(({ path }) => path);
    }),
  );
}

/** Only a file: a pipe or a device that lies in its place is not waited for. Throws where there is none. */
export function readRecord(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(descriptor, 'utf8') : '';
  } finally {
    closeSync(descriptor);
  }
}

/** More than any record. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Said {
  readonly process: string;
  readonly entries: readonly { readonly path: string }[];
}

const NONE: ReadonlySet<string> = new Set();

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
