// Owns: listing a folder and everything below it, in bytewise order, through pinned folders only.
// Refuses: to follow a link, to enter .git or .haft, and to keep the event loop for long.
import { setImmediate } from 'node:timers/promises';
import { enterFolder, leaveFolder, type PinnedFolder } from './child-folder.ts';
import type { FolderReader } from './folder-reader.ts';
import type { IgnoreScope } from './ignore-rules.ts';
import type { IgnoreFiles } from './ignore-scope.ts';
import type { Located } from './located.ts';
import type { WantedEntries, WantedEntry, WantedQuery } from './wanted-entries.ts';

export interface WalkQuery extends WantedQuery {
  /** False when nothing below this folder, named as the caller sees it, can match. */
  mayContain(folder: string): boolean;
  readonly maxResults: number;
  readonly readFolder: FolderReader;
  readonly wantedIn: WantedEntries;
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
  readonly entries: readonly WantedEntry[];
  /** The next of them. */
  at: number;
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
    held?: Located,
  ) => {
    const entries = query.readFolder(folder, held);
    if (!entries) unreadable++;
    const ignore = entries ? (ignoreFiles?.within(folder, entries, real.length, outer) ?? outer) : outer;
    const place = { real, shown, ignore };
    stack.push({ folder, ...place, entries: query.wantedIn(entries ?? [], place, query), at: 0 });
  };

  try {
    const outer = ignoreFiles?.above(start);
    enter({ path: start.path, fd: -1 }, prefix(start.rel), prefix(shownAs), outer, start);
    for (let level = stack.at(-1); level; level = stack.at(-1)) {
      const entry = level.entries[level.at++];
      if (entry === undefined) {
        leaveFolder(level.folder);
        stack.pop();
        continue;
      }
      const { name, path, isFolder } = entry;
      if (!isFolder || (query.includeDirs && isWantedFolder(level, name, query))) {
        if (files.length === query.maxResults) return { files, truncated: true, unreadable };
        files.push(path);
      }
      if (!isFolder || !query.mayContain(level.shown + name)) continue;
      const child = enterFolder(level.folder, name);
      if (child) enter(child, `${level.real}${name}/`, path, level.ignore);
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

function isWantedFolder(level: Level, name: string, query: WalkQuery): boolean {
  return query.matcherIn(level.shown)(name) && query.visible(level.real + name);
}
