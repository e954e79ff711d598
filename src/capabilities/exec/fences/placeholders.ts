// Owns: empty files and folders in the place of names that may not come into being while a program runs: written down before
// they are made, held by every program that counts on them, removed by the last of those or by whoever comes after a crash.
// Refuses: to remove what is not empty any more, or not the very thing that was made.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import { readRecord } from '../../fences-in-use.ts';

/** How processes know each other, so that one can tell that another is gone. */
export interface ProcessNames {
  readonly self: string;
  isAlive(name: string): boolean;
}

export interface Wanted {
  /** Absolute; nothing is there. */
  readonly path: string;
  readonly folder: boolean;
}

export interface Held {
  /** Those of the wanted that stand in now; the others came into being meanwhile. */
  readonly paths: readonly string[];
  release(): void;
}

interface Entry {
  readonly path: string;
  readonly folder: boolean;
  readonly id: string;
  /** Folders that were made on the way, innermost first. */
  readonly made: readonly string[];
}

interface Holder {
  readonly process: string;
  readonly entries: readonly Entry[];
}

const NOTHING: Held = { paths: [], release() {} };
const PAUSE_MS = 2;
const PATIENCE_MS = 2_000;

/**
 * Somebody who removes says so, and then looks who holds; somebody who holds says so, and then looks who removes, and waits.
 * Whatever the order, one of the two sees the other, so nothing is removed that another counts on: on Linux a mount goes
 * away with the name that it is on.
 */
export function holdPlaceholders(
  root: string,
  { missing, present }: { readonly missing: readonly Wanted[]; readonly present: readonly Wanted[] },
  names: ProcessNames,
): Held {
  const folder = folderOf(root);
  const isHeld = present.length > 0 && namesIn(folder).some((name) => name.startsWith('h-'));
  const wanted = isHeld ? [...missing, ...present] : missing;
  if (wanted.length === 0) return NOTHING;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  sweepPlaceholders(root, names);
  const own = newName();
  // Before anything else, so that whoever removes leaves alone what this one is about to find.
  say(folder, `h-${own}`, {
    process: names.self,
    entries: wanted.map((one) => ({ ...one, id: '', made: [] })),
  });
  waitForRemovers(folder, names);
  const others = holders(folder, names).filter(({ name }) => name !== `h-${own}`);
  const entries: Entry[] = [];
  const ready: (() => boolean)[] = [];
  for (const [index, { path, folder: isFolder }] of wanted.entries()) {
    const stat = statOf(path);
    if (stat) {
      const known = others
        .flatMap(({ entries: held }) => held)
        .find((one) => one.path === path && one.id === idOf(stat));
      if (known) entries.push(known);
      continue;
    }
    const made = ignoreErrors(() => makeFolders(dirname(path)));
    const aside = join(folder, `p-${own}-${index}`);
    if (!made || !succeeds(() => makeEmpty(aside, isFolder))) continue;
    entries.push({ path, folder: isFolder, id: idOf(lstatSync(aside)), made });
    ready.push(
      () =>
        succeeds(() => (isFolder ? renameSync(aside, path) : linkSync(aside, path))) ||
        !remove(aside, isFolder),
    );
  }
  // Written down with what it is before it is there.
  say(folder, `h-${own}`, { process: names.self, entries });
  for (const put of ready) put();
  for (const [index, { folder: isFolder }] of wanted.entries())
    if (!isFolder) remove(join(folder, `p-${own}-${index}`), false);
  return {
    paths: entries.filter(({ path, id }) => idAt(path) === id).map(({ path }) => path),
    release: () => releaseEntries(folder, `h-${own}`, entries, names),
  };
}

/** Says, for as long as a program runs, what is kept from it: whoever would replace it waits (capabilities/fences-in-use.ts). */
export function holdFences(root: string, paths: readonly string[], names: ProcessNames): () => void {
  if (paths.length === 0) return () => {};
  const folder = folderOf(root);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = `f-${newName()}`;
  const entries = paths.map((path) => ({ path, folder: false, id: '', made: [] }));
  say(folder, own, { process: names.self, entries });
  return () => void ignoreErrors(() => unlinkSync(join(folder, own)));
}

/** Removes what processes that are gone have left. */
export function sweepPlaceholders(root: string, names: ProcessNames): void {
  const folder = folderOf(root);
  for (const name of namesIn(folder)) {
    if (name.startsWith('p-')) continue;
    const said = read(folder, name);
    if (!said || names.isAlive(said.process)) continue;
    if (name.startsWith('h-')) releaseEntries(folder, name, said.entries, names);
    else ignoreErrors(() => unlinkSync(join(folder, name)));
  }
  const living = new Set(namesIn(folder).map((name) => name.slice(2)));
  for (const name of namesIn(folder)) {
    if (!name.startsWith('p-') || living.has(name.slice(2, 2 + NAME_LENGTH))) continue;
    const path = join(folder, name);
    remove(path, statOf(path)?.isDirectory() ?? false);
  }
}

function releaseEntries(
  folder: string,
  holder: string,
  entries: readonly Entry[],
  names: ProcessNames,
): void {
  const marker = `r-${newName()}`;
  say(folder, marker, { process: names.self, entries: [] });
  ignoreErrors(() => unlinkSync(join(folder, holder)));
  const held = new Set(holders(folder, names).flatMap((one) => one.entries.map(({ path }) => path)));
  for (const { path, folder: isFolder, id, made } of entries) {
    if (held.has(path)) continue;
    const stat = statOf(path);
    if (!stat || idOf(stat) !== id || (!isFolder && stat.size > 0)) continue;
    remove(path, isFolder);
    for (const above of made) if (!succeeds(() => rmdirSync(above))) break;
  }
  ignoreErrors(() => unlinkSync(join(folder, marker)));
}

function waitForRemovers(folder: string, names: ProcessNames): void {
  const removing = () =>
    namesIn(folder).some((name) => {
      const said = name.startsWith('r-') ? read(folder, name) : undefined;
      return said !== undefined && names.isAlive(said.process);
    });
  const until = Date.now() + PATIENCE_MS;
  while (removing() && Date.now() < until)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

const holders = (folder: string, names: ProcessNames) =>
  namesIn(folder).flatMap((name) => {
    const said = name.startsWith('h-') ? read(folder, name) : undefined;
    return said && names.isAlive(said.process) ? [{ name, entries: said.entries }] : [];
  });

function makeEmpty(path: string, folder: boolean): void {
  if (folder) mkdirSync(path);
  else writeFileSync(path, '', { flag: 'wx' });
  chmodSync(path, folder ? 0o755 : 0o644);
}

/** Answers those that were not there before, the deepest first. */
export function makeFolders(folder: string): string[] {
  const first = mkdirSync(folder, { recursive: true });
  const made: string[] = [];
  for (let at = folder; first !== undefined && at.length >= first.length; at = dirname(at)) made.push(at);
  return made;
}

/** Never what is not empty: the system itself refuses that for folders, and files were looked at. */
const remove = (path: string, folder: boolean): boolean =>
  succeeds(() => (folder ? rmdirSync(path) : unlinkSync(path)));

/** Whole or not at all, so that nobody reads half of it. */
function say(folder: string, name: string, holder: Holder): void {
  const aside = join(folder, `t-${name}`);
  writeFileSync(aside, JSON.stringify(holder));
  renameSync(aside, join(folder, name));
}

function read(folder: string, name: string): Holder | undefined {
  const said = readRecord(join(folder, name));
  if (typeof said?.process !== 'string' || !Array.isArray(said.entries)) return undefined;
  return said as Holder;
}

const NAME_LENGTH = 16;
const newName = (): string => randomBytes(NAME_LENGTH / 2).toString('hex');
const folderOf = (root: string): string => join(root, '.haft', 'placeholders');
const namesIn = (folder: string): string[] => ignoreErrors(() => readdirSync(folder)) ?? [];
const statOf = (path: string): Stats | undefined =>
  ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false })) ?? undefined;
/** Numbers of inodes are given out again at once; a file that somebody touched is theirs. */
const idOf = (stat: Stats): string =>
  `${stat.dev}:${stat.ino}:${stat.birthtimeMs}:${stat.isDirectory() ? '' : stat.mtimeMs}`;
const idAt = (path: string): string | undefined => {
  const stat = statOf(path);
  return stat && idOf(stat);
};
