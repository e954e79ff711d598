// Owns: where a repository really lives: every path outside of its `.git` entry that git takes for part of it, and which words
// of its settings name files that git, or a shell for it, would run: whether or not they are there.
// Refuses: to throw or to walk without end: what leads nowhere, or in circles, ends the search there.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { fromBytes, toSystem } from '../base/byte-path.ts';
import { followLinks } from '../base/follow-links.ts';
import { ignoreErrors } from '../base/ignore-errors.ts';
import { parseGitConfig } from '../base/parse-git-config.ts';

/** What `.git` leads to. Paths are absolute, real and as base/byte-path.ts has them; they may not exist (yet), and lie anywhere. */
export interface GitFolders {
  /** Folders that git reads as a repository: its own, the one it shares (`commondir`), submodules', worktrees'. */
  readonly gitDirs: readonly string[];
  /** The topmost of all paths that belong to them: `gitDirs`, what links inside them lead to, included configuration. */
  readonly places: readonly string[];
  /** Links outside of all that on the way to any of it: whoever replaces one leads git elsewhere. */
  readonly links: readonly string[];
}

/** No repository has as many; a chain that someone laid is not followed further. */
const MAX_GIT_DIRS = 2000;
const MAX_TEXT_BYTES = 1024 * 1024;
/** Of one repository; where there are as many, not all were read. */
export const MAX_INCLUDES = 100;

/** Follows an entry named `.git` (a folder, a file with `gitdir:`, a link to either), given by its absolute path. */
export function gitFolders(entry: string): GitFolders {
  const gitDirs = new Set<string>();
  const places = new Set<string>();
  const links = new Set<string>();
  const reach: Reach = (path) => realOf(path, links);
  const configs: Config[] = [];
  const pending = startsOf(entry, reach);
  if (isLink(entry)) places.add(reach(entry));
  for (let at = pending.pop(); at !== undefined && gitDirs.size < MAX_GIT_DIRS; at = pending.pop()) {
    if (gitDirs.has(at)) continue;
    gitDirs.add(at);
    places.add(at);
    const common = pathIn(at, 'commondir', '');
    const shared = common === undefined ? at : reach(common);
    if (shared !== at) pending.push(shared);
    for (const part of ['', 'hooks', 'info', 'objects/info'])
      for (const link of linksIn(join(at, part))) places.add(reach(link));
    for (const folder of ['objects/info', 'objects/pack'].map((name) => join(at, name)))
      if (isLink(folder)) places.add(reach(folder));
    for (const path of alternatesOf(join(at, 'objects'), reach)) places.add(path);
    pending.push(...gitDirsBelow(join(at, 'modules'), reach), ...gitDirsBelow(join(at, 'worktrees'), reach));
    configs.push({ at, shared, files: configOf(at, reach) });
  }
  for (const { at, shared, files } of configs) {
    const trees = [at, dirname(at), dirname(entry)];
    for (const one of configs) if (one.shared === shared) trees.push(...workTrees(one, reach));
    for (const [file, entries] of files) {
      places.add(reach(file));
      for (const path of namedIn(entries, [...new Set(trees)], reach)) places.add(path);
    }
  }
  // A link to all that is around it stands for nothing of what is in there.
  const holds = (place: string) => [dirname(entry), ...gitDirs].some((one) => one.startsWith(`${place}/`));
  const wide = [...places].filter((place) => !gitDirs.has(place) && (place === '/' || holds(place)));
  const narrow = topmost([...places].filter((place) => !wide.includes(place)));
  const isInside = (link: string) => link === entry || [...gitDirs].some((one) => link.startsWith(`${one}/`));
  return {
    gitDirs: [...gitDirs].sort(),
    places: [...narrow, ...wide].sort(),
    links: [...links].filter((link) => !isInside(link)).sort(),
  };
}

/** What repositories of the folders above take from below this one, which is absolute and real. What it is itself is the user's to say. */
export function partsFromAbove(root: string): Pick<GitFolders, 'places' | 'links'> {
  const found = { places: new Set<string>(), links: new Set<string>() };
  for (let at = root; at !== dirname(at); at = dirname(at)) {
    const entry = join(dirname(at), '.git');
    if (!isThere(entry)) continue;
    const { places, links } = gitFolders(entry);
    for (const path of places) if (path.startsWith(`${root}/`)) found.places.add(path);
    for (const path of links) if (path.startsWith(`${root}/`)) found.links.add(path);
  }
  return { places: [...found.places], links: [...found.links] };
}

/** The real path, after links on the way were written down. */
type Reach = (path: string) => string;

/**
 * The files that git reads a repository's configuration from, those that they include too, whatever the condition and whether
 * or not they are there.
 */
export const configFiles = (gitDir: string): string[] =>
  [...configOf(gitDir, (path) => realOf(path)).keys()].sort();

type Entries = NonNullable<ReturnType<typeof parseGitConfig>>;

interface Config {
  readonly at: string;
  /** The folder that it shares with others, or its own. */
  readonly shared: string;
  readonly files: ReadonlyMap<string, Entries>;
}

/** What `core.worktree` names: git starts there, and counts relative paths from there. */
const workTrees = ({ at, files }: Config, reach: Reach): string[] =>
  [...files.values()]
    .flat()
    .flatMap(({ key, value }) => (key === 'core.worktree' && value ? [reach(fromHome(at, value))] : []));

/** Each with its settings; none where it is not there or cannot be read. */
function configOf(gitDir: string, reach: Reach): Map<string, Entries> {
  const found = new Map<string, Entries>();
  const pending = ['config', 'config.worktree'].map((name) => join(gitDir, name));
  for (let file = pending.pop(); file !== undefined && found.size < MAX_INCLUDES; file = pending.pop()) {
    if (found.has(file)) continue;
    const entries = parseGitConfig(readText(file) ?? '') ?? [];
    found.set(file, entries);
    for (const { key, value } of entries)
      if (/^include(?:if\..*)?\.path$/s.test(key) && value) pending.push(included(file, value, reach));
  }
  return found;
}

/** What settings name below a working tree: the folder of hooks and programs, there or not, and other files that are there. */
function namedIn(entries: Entries, trees: readonly string[], reach: Reach): string[] {
  return entries.flatMap(({ key, value }) => {
    if (!value || NAMES_NOTHING.test(key) || /^(?:true|false|\d+)$/.test(value)) return [];
    if (key !== 'core.hookspath') {
      const inTrees = (words: readonly string[]) =>
        words.flatMap((word) => trees.map((tree) => fromHome(tree, word)));
      return [
        ...inTrees(value.split(/[\s"'`;&|()<>=!]+/)).filter((path) => statOf(path)?.isDirectory() === false),
        ...inTrees(programWords(key, value)).filter((path) => statOf(path)?.isDirectory() !== true),
      ].map(reach);
    }
    const folders = trees.map((tree) => reach(fromHome(tree, value)));
    // A folder with everything in it is not held for its hooks.
    return folders.flatMap((folder) =>
      trees.some((tree) => tree === folder || tree.startsWith(`${folder}/`))
        ? HOOKS.map((name) => reach(join(folder, name)))
        : [folder, ...linksIn(folder).map(reach)],
    );
  });
}

/** Everyday settings with words that are no files. */
const NAMES_NOTHING =
  /^(?:branch|color|extensions|include|includeif|remote|submodule|user)\.(?!.*\.(?:update|uploadpack|receivepack)$)/s;

/** All of githooks(5), those of servers and of `git p4` too. */
export const HOOKS =
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change'.split(
    ' ',
  );

interface ReadLimits {
  readonly maxBytes?: number;
  /** Beside those that keep a pipe or a device from being waited for. */
  readonly flags?: number;
}

/** Text of a file of reasonable size, its bytes as base/byte-path.ts has them; undefined where there is none or it cannot be read. */
export function readText(
  path: string,
  { maxBytes = MAX_TEXT_BYTES, flags = 0 }: ReadLimits = {},
): string | undefined {
  // Most that is asked for is not there, and an error takes longer than the question.
  if (!isThere(path)) return undefined;
  let fd: number | undefined;
  try {
    // A pipe would be waited for.
    fd = openSync(toSystem(path), constants.O_RDONLY | constants.O_NONBLOCK | flags);
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    const buffer = Buffer.alloc(stat.size);
    return fromBytes(buffer.subarray(0, readSync(fd, buffer, 0, stat.size, 0)));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** A relative `gitdir:` counts from where the file is found; behind a link that may be one of two folders. */
function startsOf(entry: string, reach: Reach): string[] {
  const real = reach(entry);
  const stat = statOf(real);
  if (stat === undefined) return [];
  if (stat.isDirectory()) return [real];
  return [entry, real].flatMap((file) => {
    const target = pathIn(dirname(file), basename(file), 'gitdir: ');
    return target === undefined ? [] : [reach(target)];
  });
}

/** The path that a one-line file holds after `prefix`, relative to the file's folder. */
function pathIn(folder: string, name: string, prefix: string): string | undefined {
  const text = readText(join(folder, name))?.replace(/[\r\n]+$/, '');
  if (text === undefined || !text.startsWith(prefix)) return undefined;
  const path = text.slice(prefix.length);
  return path === '' || path.length > 4096 || path.includes('\0') ? undefined : from(folder, path);
}

/** Repositories in `modules` or `worktrees`, whose names may hold slashes. */
function gitDirsBelow(folder: string, reach: Reach, depth = 0): string[] {
  if (depth > 8) return [];
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statOf(join(path, 'HEAD')) || isLink(path)) return [reach(path)];
    return gitDirsBelow(path, reach, depth + 1);
  });
}

/** Counted from the folder by whose name git found the file, which may be a link itself. */
function included(file: string, path: string, reach: Reach): string {
  const found = fromHome(dirname(file), path);
  return join(reach(dirname(found)), basename(found));
}

/** As the system takes it: `link/..` is the folder above what the link leads to. */
const from = (folder: string, path: string): string => (isAbsolute(path) ? path : `${folder}/${path}`);

const fromHome = (folder: string, path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : from(folder, path);

/** Folders that hold objects for this one, and those that hold some for them. */
function alternatesOf(start: string, reach: Reach): string[] {
  const found = new Set<string>();
  const pending = [start];
  for (let objects = pending.pop(); objects !== undefined; objects = pending.pop())
    for (const line of readText(join(objects, 'info/alternates'))?.split('\n') ?? []) {
      if (line === '' || line.startsWith('#') || line.includes('\0') || found.size >= MAX_INCLUDES) continue;
      // Here git takes dots out of the path by itself.
      const folder = reach(resolve(objects, line));
      if (found.has(folder)) continue;
      found.add(folder);
      pending.push(folder);
    }
  return [...found];
}

/** The real path; of what does not exist, where it would be. `links`: takes those on the way. */
function realOf(path: string, links?: Set<string>): string {
  const real = isThere(path) ? realPathOf(path) : undefined;
  if (real === path) return path;
  const led = followLinks(path, ['/'], (at) => {
    if (!isLink(at)) return undefined;
    links?.add(at);
    return fromBytes(readlinkSync(toSystem(at), 'buffer'));
  });
  return real ?? led ?? resolve(path);
}

/** Undefined where nothing is there. */
export const realPathOf = (path: string): string | undefined =>
  ignoreErrors(() => fromBytes(realpathSync.native(toSystem(path), 'buffer')));

export const isThere = (path: string): boolean => statOf(path) !== undefined;

/** Undefined where nothing is there, or nothing that may be looked at. */
export const statOf = (path: string): Stats | undefined =>
  ignoreErrors(() => lstatSync(toSystem(path), { throwIfNoEntry: false }));

const isLink = (path: string): boolean => statOf(path)?.isSymbolicLink() === true;

function linksIn(folder: string): string[] {
  if (!isThere(folder)) return [];
  const entries = ignoreErrors(() =>
    readdirSync(toSystem(folder), { withFileTypes: true, encoding: 'buffer' }),
  );
  return (entries ?? []).flatMap((entry) =>
    entry.isSymbolicLink() ? [join(folder, fromBytes(entry.name))] : [],
  );
}

function namesIn(folder: string): string[] {
  const names = isThere(folder) ? ignoreErrors(() => readdirSync(toSystem(folder), 'buffer')) : undefined;
  return (names ?? []).slice(0, MAX_GIT_DIRS).map(fromBytes);
}

function topmost(paths: readonly string[]): string[] {
  const kept: string[] = [];
  for (const path of [...paths].sort())
    if (!kept.some((above) => path === above || path.startsWith(`${above}/`))) kept.push(path);
  return kept;
}

/** Paths as written: relative ones count from wherever git starts the program. `key` as parseGitConfig gives it. */
export function programWords(key: string, value: string): string[] {
  if (!STARTS.test(key)) return [];
  if (key.startsWith('alias.') && !value.trimStart().startsWith('!')) return [];
  const line = value.trimStart().replace(/^!/, '');
  // Started without a shell, so that blanks belong to the name.
  const whole = WITHOUT_SHELL.test(key) && line.includes('/') ? [line] : [];
  return [...new Set([...whole, ...commandWords(line)])].filter(isFile);
}

/** By the last name of the setting, so that ones which git has yet to invent count, too. */
const STARTS =
  /^(?:alias|pager)\.|\.(?:[^.]*(?:cmd|command|program|hook|helper|editor|pager|askpass|proxy|tool|filter)|browser|clean|driver|external|fsmonitor|httpd|path|process|receivepack|smtpserver|smudge|textconv|tunnel|update|uploadpack)$/s;
const WITHOUT_SHELL = /\.(?:askpass|gitproxy|path|program|smtpserver)$/;

const MAX_NESTED = 4;

function commandWords(line: string, nested = 0): string[] {
  const found: string[] = [];
  // What stands before the slash is most often the work tree, or the folder of the script itself.
  const text = line.replace(FOLDER_BY_NAME, './');
  /** Whether the next word is a command, or the script of an interpreter. */
  let next: 'command' | 'script' | 'argument' = 'command';
  for (const [token, double, single] of text.matchAll(TOKEN)) {
    const quoted = double ?? single;
    if (quoted === undefined && SEPARATOR.test(token)) {
      next = 'command';
      continue;
    }
    if (quoted !== undefined && nested < MAX_NESTED && /[\s;&|]/.test(quoted))
      found.push(...commandWords(quoted, nested + 1));
    const [, name = '', word = ''] = /^([\w-]*=)?(.*)$/s.exec(quoted ?? token) ?? [];
    if (
      SPELT_AS_PATH.test(word) ||
      SCRIPT.test(word) ||
      (next === 'command' && word.includes('/')) ||
      (next === 'script' && !word.startsWith('-'))
    )
      found.push(word);
    if (name !== '' || (next === 'command' && GOES_ON.test(word))) continue;
    if (next === 'command') next = INTERPRETER.test(word) ? 'script' : 'argument';
    else if (next === 'script' && (!word.startsWith('-') || /^-[cem]/.test(word))) next = 'argument';
  }
  return found;
}

const FOLDER_BY_NAME = /(["'])\$(?:\{[^}]*\}|\w+|\([^()]*\))\1\/|\$(?:\{[^}]*\}|\w+|\([^()]*\))\/|`[^`]*`\//g;
const TOKEN = /"([^"]*)"|'([^']*)'|[;&|(){}`\n]+|[^\s"';&|(){}`<>]+/g;
const SEPARATOR = /^[;&|(){}`\n]+$/;
const SPELT_AS_PATH = /^(?:~|\.{0,2})\//;
const SCRIPT = /[^/.]\.(?:[bz]?a?sh|py|pl|rb|[cm]?[jt]s|php|lua|awk|tcl|exe|jar|cmd|bat|ps1)$/i;
const GOES_ON = /^(?:!|command|do|else|elif|env|exec|if|nice|nohup|sudo|then|time|until|while)$/;
const INTERPRETER =
  /^(?:.*\/)?(?:(?:[akz]|ba|da|fi|mk|c|tc)?sh|python[\d.]*|node|nodejs|perl|ruby|php|lua|deno|bun|tsx|source|\.)$/;

/** Patterns, variables and addresses name no file of their own. */
const isFile = (word: string): boolean =>
  word.length <= 4096 && !/[\0$*?%]|:\/\//.test(word) && !/(?:^|\/)\.{0,2}$/.test(word);
