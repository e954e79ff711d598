// Owns: `ctx.fs.list`: a glob over the workspace, ignore files and policy respected: folders below in bytewise order, through pinned
// folders only, and which entries of each are worth looking at, remembered while folder and question stay.
// Refuses: what policy hides, without saying that it is there; to follow a link, to enter .git or .haft, and to keep the event loop
// for long.
import type { Dirent } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { compileGlob, globBase } from '../../base/glob.ts';
import type { CallScope, Listing, ListQuery } from '../../contract/capability.ts';
import { locate, unlessAbsent } from './beneath.ts';
import type { FolderReader, PinnedFolder } from './folder-reader.ts';
import { createFolderReader, enterFolder, leaveFolder } from './folder-reader.ts';
import { type IgnoreScope, isIgnored } from './ignore-rules.ts';
import { createIgnoreFiles, type IgnoreFiles } from './ignore-scope.ts';
import { whereItLeads } from './real-names.ts';
import { isTempName, type Located, nameOf, type Root, release } from './root.ts';

export type List = (scope: CallScope, root: Root, query: ListQuery) => Promise<Listing>;

/** For as long as a runtime lives: what was compiled for one listing serves the next. */
export function createLister(): List {
  const queryOf = createGlobQueries();
  const disk = {
    ignoreFiles: createIgnoreFiles(),
    readFolder: createFolderReader(),
    wantedIn: createWantedEntries(),
  };
  return (scope, root, query) => list(scope, root, query, queryOf(query.glob, query.includeHidden), disk);
}

/**
 * What the glob spells out before its first wildcard is taken at its word: hidden and ignored folders there are
 * listed, and a link there is followed. Below it no link is followed; links are listed like files.
 */
async function list(
  scope: CallScope,
  root: Root,
  query: ListQuery,
  { base, matcherIn, mayContain }: GlobQuery,
  disk: Pick<WalkQuery, 'ignoreFiles' | 'readFolder' | 'wantedIn'>,
): Promise<Listing> {
  const effect = { kind: 'fs.read', path: base, tree: true } as const;
  scope.admit(effect);
  const start = find(root, base);
  if (!start) {
    // That nothing is there is told only to those who may look at where links lead.
    const led = whereItLeads({ root, rel: base }, 'follow');
    const path = led ? nameOf(led.root, led.rel) : base;
    if (path !== base) scope.admit(effect, { kind: 'fs.read', path, tree: true });
    return { files: [], truncated: false };
  }
  try {
    const real = nameOf(start.root, start.rel);
    if (real !== base) scope.admit(effect, { kind: 'fs.read', path: real, tree: true });
    // Who wants none asks only whether they may.
    if (query.maxResults === 0) return { files: [], truncated: true };
    const sees = scope.visible;
    const visible = start.root.extra ? (rel: string) => sees(nameOf(start.root, rel)) : sees;
    if (!start.stat.isDirectory()) {
      const files = matcherIn('')(base) && visible(start.rel) ? [base] : [];
      return { files: files.slice(0, query.maxResults), truncated: files.length > query.maxResults };
    }
    const { maxResults, includeIgnored, includeDirs = false } = query;
    const { signal } = scope;
    const ignoreFiles = includeIgnored ? undefined : disk.ignoreFiles;
    const wanted = { ...disk, matcherIn, mayContain, visible, maxResults, ignoreFiles, includeDirs, signal };
    const { files, truncated, unreadable } = await walk(start, base, wanted);
    if (unreadable > 0) {
      scope.warn({
        reason: 'path.denied_by_os',
        message: `${unreadable} folders could not be read and are left out`,
      });
    }
    return { files, truncated };
  } finally {
    release(start);
  }
}

/** A glob that begins where nothing is matches nothing. */
function find(root: Root, base: string): Located | undefined {
  return unlessAbsent(() => locate(root, base, 'list'));
}

interface WalkQuery extends WantedQuery {
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

interface Walked {
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

interface WantedEntry {
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

interface WantedQuery {
  /**
   * Of files and links (and folders, where those are listed) of a folder, named as the caller sees it, with a trailing
   * slash: whether one is wanted. The same function for the same question, so that the answer can be remembered.
   */
  matcherIn(folder: string): (name: string) => boolean;
  /** Whether a place, named by where it really is beneath its root, may be listed. */
  visible(rel: string): boolean;
}

type WantedEntries = (
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

interface GlobQuery {
  /** The folder to begin in: what the glob spells out before its first wildcard. */
  readonly base: string;
  /** For the entries of one folder, named with its trailing slash or empty: whether one is wanted, by its name. */
  matcherIn(folder: string): (name: string) => boolean;
  mayContain(folder: string): boolean;
}

/** Agents ask for the same few globs again and again. */
const REMEMBERED = 64;

/** Remembers what it compiled last. */
function createGlobQueries(): typeof globQuery {
  const known = new Map<string, GlobQuery>();
  return (glob, hidden) => {
    const key = `${hidden ? '+' : '-'}${glob}`;
    const query = known.get(key) ?? globQuery(glob, hidden);
    known.delete(key);
    known.set(key, query);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
    return query;
  };
}

/** Hidden names match only where the glob spells their dot, unless `hidden`. Throws `input.glob`. */
function globQuery(glob: string, hidden: boolean): GlobQuery {
  const base = globBase(glob);
  const matches = compileGlob(glob, { dot: hidden });
  const matcherIn = (folder: string) => (name: string) => matches(folder + name);
  const names = plainNames(glob);
  if (!names)
    return { base, matcherIn, mayContain: (folder) => hidden || DOTTED.test(glob) || !isHidden(folder) };
  const depth = base === '.' ? 0 : base.split('/').length;
  const shortcut = cheapMatch(names.slice(depth), hidden, depth);
  return { base, matcherIn: shortcut ?? matcherIn, mayContain: folderCheck(names, hidden) };
}

/** Somewhere in it a name may begin with a dot that is written out. */
const DOTTED = /(^|[/{,\\])\./;

/** The names between slashes; undefined where braces or escapes make them more than text. */
function plainNames(glob: string): string[] | undefined {
  if (/[{\\]/.test(glob)) return undefined;
  return glob.split('/').filter((name) => name !== '' && name !== '.');
}

/** What is asked most often, for all that lies below the base, answered by the end of the name. */
function cheapMatch(
  names: readonly string[],
  hidden: boolean,
  depth: number,
): GlobQuery['matcherIn'] | undefined {
  const deep = names[0] === '**';
  const [last = '*', ...more] = deep ? names.slice(1) : names;
  const ending = /^\*(\.[\w.-]+)?$/.exec(last);
  if (!ending || more.length > 0 || names.length === 0) return undefined;
  const suffix = ending[1] ?? '';
  const matches = (name: string) => name.endsWith(suffix) && (hidden || name.charCodeAt(0) !== DOT);
  return (folder) => (deep || countSlashes(folder) === depth ? matches : nothing);
}

const nothing = () => false;

/** Folders are asked from the top down, so only the last name is new. */
function folderCheck(names: readonly string[], hidden: boolean): (folder: string) => boolean {
  const checks = names.map((name) => compileGlob(name, { dot: hidden }));
  const span = names.indexOf('**');
  const spelled = span < 0 ? [] : checks.filter((_, at) => at > span && names[at]!.startsWith('.'));
  return (folder) => {
    const at = countSlashes(folder);
    const name = folder.slice(folder.lastIndexOf('/') + 1);
    if (span < 0 || at < span) return at < names.length - 1 && checks[at]!(name);
    return hidden || !name.startsWith('.') || spelled.some((check) => check(name));
  };
}

function countSlashes(path: string): number {
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) count++;
  return count;
}

function isHidden(path: string): boolean {
  return path.charCodeAt(path.lastIndexOf('/') + 1) === DOT;
}
