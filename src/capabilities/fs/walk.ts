// Owns: listing a folder and everything below it, in bytewise order, through pinned folders only.
// Refuses: to follow a link, to enter .git or .haft, and to keep the event loop for long.
import type { Dirent } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { enterFolder, leaveFolder, type PinnedFolder } from './child-folder.ts';
import type { FolderReader } from './folder-reader.ts';
import { type IgnoreScope, isIgnored } from './ignore-rules.ts';
import type { IgnoreFiles } from './ignore-scope.ts';
import type { Located } from './located.ts';
import { isTempName } from './temp-name.ts';

export interface WalkQuery {
  /**
   * Of files and links (and folders, with `includeDirs`) of a folder, named as the caller sees it, with a trailing slash:
   * whether one is wanted.
   */
  matcherIn(folder: string): (name: string) => boolean;
  /** False when nothing below this folder, named as the caller sees it, can match. */
  mayContain(folder: string): boolean;
  /** Whether a place, named by where it really is beneath its root, may be listed. */
  visible(rel: string): boolean;
  readonly maxResults: number;
  readonly readFolder: FolderReader;
  /** Without them, what is ignored is listed too. */
  readonly ignoreFiles: IgnoreFiles | undefined;
  readonly includeDirs: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface Walked {
  readonly files: string[];
  readonly truncated: boolean;
  /** Folders that could not be read, or were swapped for something else meanwhile. */
  readonly unreadable: number;
}

/** Milliseconds after which others get their turn. */
const SLICE = 10;

interface Level {
  readonly folder: PinnedFolder;
  /** Where it really is and how the caller sees it, each empty or with a trailing slash. */
  readonly real: string;
  readonly shown: string;
  readonly ignore: IgnoreScope | undefined;
  /** What is left to do, in reverse order. Folders end with a slash, which also sorts them right: `a-b`, `a/x`. */
  readonly todo: string[];
}

/** `start` is the folder to begin in, and stays the caller's to release; `shownAs` is how its paths begin. */
export async function walk(start: Located, shownAs: string, query: WalkQuery): Promise<Walked> {
  const { ignoreFiles } = query;
  const files: string[] = [];
  const stack: Level[] = [];
  let unreadable = 0;
  let pause = Date.now() + SLICE;

  const enter = (
    folder: PinnedFolder,
    real: string,
    shown: string,
    outer: IgnoreScope | undefined,
    fd = folder.fd,
  ) => {
    const entries = query.readFolder(folder, fd);
    if (!entries) unreadable++;
    const ignore = entries ? (ignoreFiles?.within(folder, entries, real.length, outer) ?? outer) : outer;
    stack.push({ folder, real, shown, ignore, todo: wanted(entries ?? [], real, shown, ignore, query) });
  };

  try {
    const outer = ignoreFiles?.above(start);
    enter({ path: start.path, fd: -1 }, prefix(start.rel), prefix(shownAs), outer, start.fd);
    for (let level = stack.at(-1); level; level = stack.at(-1)) {
      const key = level.todo.pop();
      if (key === undefined) {
        leaveFolder(level.folder);
        stack.pop();
        continue;
      }
      const isFolder = key.endsWith('/');
      if (!isFolder || (query.includeDirs && isWantedFolder(level, key, query))) {
        if (files.length === query.maxResults) return { files, truncated: true, unreadable };
        files.push(level.shown + key);
      }
      if (!isFolder || !query.mayContain(level.shown + key.slice(0, -1))) continue;
      const child = enterFolder(level.folder, key.slice(0, -1));
      if (child) enter(child, level.real + key, level.shown + key, level.ignore);
      else unreadable++;
      if (Date.now() > pause) {
        await setImmediate();
        query.signal?.throwIfAborted();
        pause = Date.now() + SLICE;
      }
    }
  } finally {
    for (const level of stack) leaveFolder(level.folder);
  }
  return { files, truncated: false, unreadable };
}

function prefix(rel: string): string {
  return rel === '.' ? '' : `${rel}/`;
}

function isWantedFolder(level: Level, key: string, query: WalkQuery): boolean {
  const name = key.slice(0, -1);
  return query.matcherIn(level.shown)(name) && query.visible(level.real + name);
}

/** The entries worth looking at, last one first. */
function wanted(
  entries: readonly Dirent[],
  real: string,
  shown: string,
  ignore: IgnoreScope | undefined,
  query: WalkQuery,
): string[] {
  const keys: string[] = [];
  const matches = query.matcherIn(shown);
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
    if (!isFolder && !query.visible(real + name)) continue;
    if (plain && FROM_SURROGATES_ON.test(name)) plain = false;
    keys.push(isFolder ? `${name}/` : name);
  }
  // Strings compare by UTF-16 units; their bytes compare otherwise only where such characters are involved.
  if (plain) keys.sort();
  else keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return keys.reverse();
}

const DOT = 0x2e;
const FROM_SURROGATES_ON = /[\ud800-\uffff]/;

function isNeverListed(name: string): boolean {
  return name === '.git' || name === '.haft' || isTempName(name);
}
