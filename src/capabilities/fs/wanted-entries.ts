// Owns: which entries of a folder a walk looks at, in bytewise order of their paths, remembered while folder and question stay.
// Refuses: to read or enter a folder.
import type { Dirent } from 'node:fs';
import { type IgnoreScope, isIgnored } from './ignore-rules.ts';
import { isTempName } from './temp-name.ts';

export interface WantedEntry {
  readonly name: string;
  /** As the caller sees it; that of a folder ends with a slash. */
  readonly path: string;
  readonly isFolder: boolean;
}

/** A folder as a walk comes by: where it really is and how the caller sees it, each empty or with a trailing slash. */
export interface WalkedFolder {
  readonly real: string;
  readonly shown: string;
  readonly ignore: IgnoreScope | undefined;
}

export interface WantedQuery {
  /**
   * Of files and links (and folders, where those are listed) of a folder, named as the caller sees it, with a trailing
   * slash: whether one is wanted. The same function for the same question, so that the answer can be remembered.
   */
  matcherIn(folder: string): (name: string) => boolean;
  /** Whether a place, named by where it really is beneath its root, may be listed. */
  visible(rel: string): boolean;
}

export type WantedEntries = (
  entries: readonly Dirent[],
  folder: WalkedFolder,
  query: WantedQuery,
) => readonly WantedEntry[];

interface Answer extends WalkedFolder {
  readonly matches: (name: string) => boolean;
  readonly visible: (rel: string) => boolean;
  readonly wanted: readonly WantedEntry[];
}

/** An agent lists the same folders again and again; what was found is kept for as long as the entries themselves are. */
export function createWantedEntries(): WantedEntries {
  const answers = new WeakMap<readonly Dirent[], Answer>();
  return (entries, folder, { matcherIn, visible }) => {
    const matches = matcherIn(folder.shown);
    const last = answers.get(entries);
    if (last && last.matches === matches && last.visible === visible && isSame(last, folder))
      return last.wanted;
    const wanted = choose(entries, folder, matches, visible);
    answers.set(entries, { ...folder, matches, visible, wanted });
    return wanted;
  };
}

const isSame = (a: WalkedFolder, b: WalkedFolder): boolean =>
  a.real === b.real && a.shown === b.shown && isSameScope(a.ignore, b.ignore);

function isSameScope(a: IgnoreScope | undefined, b: IgnoreScope | undefined): boolean {
  if (!a || !b) return a === b;
  return a.rules === b.rules && a.depth === b.depth && isSameScope(a.parent, b.parent);
}

function choose(
  entries: readonly Dirent[],
  { real, shown, ignore }: WalkedFolder,
  matches: (name: string) => boolean,
  visible: (rel: string) => boolean,
): readonly WantedEntry[] {
  const keys: string[] = [];
  let plain = true;
  for (const entry of entries) {
    const name = entry.name;
    if (name.charCodeAt(0) === DOT && isNeverListed(name)) continue;
    const isFolder = entry.isDirectory();
    if (!isFolder) {
      if (!entry.isFile() && !entry.isSymbolicLink()) continue;
      if (!matches(name)) continue;
    }
    if (ignore && isIgnored(ignore, name, real + name, isFolder)) continue;
    if (!isFolder && !visible(real + name)) continue;
    if (plain && FROM_SURROGATES_ON.test(name)) plain = false;
    // The slash also sorts folders right: `a-b`, `a/x`.
    keys.push(isFolder ? `${name}/` : name);
  }
  // Strings compare by UTF-16 units; their bytes compare otherwise only where such characters are involved.
  if (plain) keys.sort();
  else keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return keys.map((key) => {
    const isFolder = key.endsWith('/');
    return { name: isFolder ? key.slice(0, -1) : key, path: shown + key, isFolder };
  });
}

const DOT = 0x2e;
const FROM_SURROGATES_ON = /[\ud800-\uffff]/;

function isNeverListed(name: string): boolean {
  return name === '.git' || name === '.haft' || isTempName(name);
}
