// Owns: everything that a program must not see or must not change where it runs, found once before it starts: state,
// policy, packs and repositories at any depth of every root, what policy's rules match, what cannot be looked into.
// Refuses: more than a sandbox can hold, and roots too large to look through.
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { isText, toPrintable } from '../../../base/byte-path.ts';
import { type GlobToken, parseGlob } from '../../../base/glob-parse.ts';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { packWords } from '../../../base/pack-words.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { CallScope } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { compilePathGlob } from '../../../contract/policy-match.ts';
import { gitFolders, isThere, partsFromAbove, readText, realPathOf } from '../../git-folders.ts';
import { searchLinkedFolders } from './linked-folders.ts';
import type { Wanted } from './placeholders.ts';
import type { FenceRules, Found, TreeScan, TreeScanner } from './scan-tree.ts';
import { compileFences, createTreeScanner } from './scan-tree.ts';

export interface FenceFinder {
  /** Everything that may not be seen or changed, as it is now. */
  look(scope: FenceScope, roots: readonly FencedRoot[], maxEntries?: number): Sight;
  find(scope: FenceScope, roots: readonly FencedRoot[]): Fences;
}

export type FenceScope = Pick<CallScope, 'root' | 'policy'>;

/** A folder that a program is shown. */
export interface FencedRoot {
  /** Absolute and real. */
  readonly path: string;
  /** What of it is shown, absolute; by default all. */
  readonly below?: readonly string[];
  /** What of it may be written, absolute. */
  readonly writable: readonly string[];
}

export interface Sight {
  /** Everything that was found, also what a larger fence stands for. */
  readonly found: readonly Found[];
  /** Links to folders behind which rules were looked for, and where each led. */
  readonly followed: ReadonlyMap<string, string>;
}

/** Paths are relative in the workspace and absolute beside it. */
export interface Fences extends Sight {
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
  /** Those of both that rules ask for, absolute: file tools may have leave to change them. */
  readonly ruled: readonly string[];
  /** Names that rules forbid outright and where nothing is: among the above, and to be held before they can be fenced. */
  readonly missing: readonly Wanted[];
  /** Such names where something is: perhaps what another program holds there. */
  readonly present: readonly Wanted[];
  /** Links on the way to parts of repositories, absolute, that a program could replace. */
  readonly onTheWay: readonly string[];
}

/** bubblewrap's time grows with the square of its mounts: these take some tenths of a second. */
const MAX_FENCES = 500;
/** Of one root beside the workspace. */
const MAX_ENTRIES = 200_000;
/** Behind links to folders, each counted once for each name that makes a difference. */
const MAX_LINKED = 50_000;
/** Policies that are remembered at once: a session may narrow its own. */
const MAX_SCANNERS = 16;

export function createFenceFinder(maxEntries = MAX_ENTRIES): FenceFinder {
  const scanners = new Map<string, KnownRules>();
  const scannerFor = ({ root, policy }: FenceScope): KnownRules => {
    const key = JSON.stringify([root, policy.fences]);
    const known = scanners.get(key) ?? knownRules(root, compileFences(policy.fences));
    scanners.delete(key);
    scanners.set(key, known);
    for (const oldest of scanners.keys()) {
      if (scanners.size <= MAX_SCANNERS) break;
      scanners.delete(oldest);
    }
    return known;
  };
  return {
    look(scope, roots, most = maxEntries) {
      const known = scannerFor(scope);
      return allFound(known, scope, roots, scanRoots(known, scope, roots, most), most);
    },
    find(scope, roots) {
      const known = scannerFor(scope);
      const { scanner } = known;
      for (const { path, writable } of roots) {
        if (path === scope.root) continue;
        const rule =
          scanner.ruleFor(path, 'read') ?? (writable.length > 0 ? scanner.ruleFor(path, 'write') : undefined);
        if (rule) throw cannotFence(`"${nameIn(scope.root, path)}" must be kept from it (${rule})`);
      }
      const scans = scanRoots(known, scope, roots, maxEntries);
      const { found, followed } = allFound(known, scope, roots, scans, Math.min(MAX_LINKED, maxEntries));
      for (const { path } of roots) {
        const blind = found.find((one) => one.kind === 'unreadable' && isWithin(path, one.path));
        if (blind) throw cannotFence(`"${nameIn(scope.root, path)}" cannot be looked into`);
      }
      const loose = found.find(({ kind, type }) => kind === 'own' && type === 'link');
      if (loose) throw cannotFence(...replaceable(toPrintable(nameIn(scope.root, loose.path))));
      const merged = merge(found, scans);
      const shown = (path: string) => roots.some((root) => isWithin(path, root.path));
      const hidden = new Set<string>();
      const readOnly = new Set<string>();
      const unmade = new Set<string>();
      const ruled = new Set<string>();
      const links = new Set<string>();
      for (const one of merged) {
        const git = one.kind === 'git' ? gitFolders(one.path) : undefined;
        for (const link of git?.links ?? []) links.add(link);
        const parts = git ? git.places.filter((path) => isThere(path) || !git.gitDirs.includes(path)) : [];
        const whole = one.type === 'link' ? ledTo(one) : [one.path, ...beyond(one, scope.root)];
        for (const path of [...whole, ...parts])
          if (!shown(path)) continue;
          else if (one.kind === 'rule' && roots.some((root) => root.path === path))
            throw leadsToAll(one, scope.root);
          else if (one.kind === 'git' && !isThere(path)) unmade.add(path);
          else {
            const fence = fenceable(path, one, scope.root, roots);
            (one.hidden ? hidden : readOnly).add(fence);
            if (one.kind === 'rule') ruled.add(fence);
          }
      }
      for (const { path: root } of roots) {
        const above = partsFromAbove(root);
        for (const link of above.links) links.add(link);
        for (const path of above.places)
          if (!isThere(path)) unmade.add(path);
          else readOnly.add(fenceable(path, { path, rule: 'protected:.git' }, scope.root, roots));
      }
      // What a pointer leads to may lie in what is hidden already, and cannot be looked at there.
      for (const path of hidden) if (isBelow(path, hidden)) hidden.delete(path);
      for (const path of readOnly) if (isBelow(path, hidden)) readOnly.delete(path);
      // The HEAD of a bare repository is found for itself, and held with its folder.
      for (const { kind, path } of found)
        if (kind === 'git' && path.endsWith('/HEAD') && dirname(path) !== scope.root)
          if (readOnly.has(dirname(path))) readOnly.delete(path);
      const kept = [...hidden, ...readOnly];
      const forbidden = forbiddenNames(scope, roots, unmade);
      const covered = ({ path }: Wanted) => kept.some((one) => one !== path && isWithin(path, one));
      const missing = forbidden.filter((one) => !covered(one) && !isThere(one.path));
      const present = forbidden.filter((one) => !covered(one) && isThere(one.path));
      for (const { path, hides } of missing)
        (hides || scanner.ruleFor(path, 'read') ? hidden : readOnly).add(path);
      if (hidden.size + readOnly.size > MAX_FENCES) throw tooMany(merged);
      const names = (paths: ReadonlySet<string>) => [...paths].map((path) => nameIn(scope.root, path)).sort();
      return {
        hidden: names(hidden),
        readOnly: names(readOnly).filter((path) => path !== '.' && !hidden.has(resolve(scope.root, path))),
        found,
        followed,
        ruled: [...ruled],
        missing,
        present,
        onTheWay: [...links].filter((path) => isWritable(roots, path) && !isBelow(path, new Set(kept))),
      };
    },
  };
}

interface KnownRules {
  readonly rules: FenceRules;
  readonly scanner: TreeScanner;
}

const knownRules = (root: string, rules: FenceRules): KnownRules => ({
  rules,
  scanner: createTreeScanner(rules, (path) => nameIn(root, path)),
});

const scanRoots = (
  { scanner }: KnownRules,
  scope: FenceScope,
  roots: readonly FencedRoot[],
  maxEntries: number,
): TreeScan[] => roots.map((one) => scanRoot(scanner, one, scope.root, maxEntries));

/** With what rules name through links to folders. */
function allFound(
  { rules }: KnownRules,
  { root }: FenceScope,
  roots: readonly FencedRoot[],
  scans: readonly TreeScan[],
  maxEntries: number,
): Sight {
  const found = scans.flatMap((scan) => scan.found);
  const links = scans.flatMap((scan) => scan.links);
  if (links.length === 0) return { found, followed: new Map() };
  const shown = (path: string) =>
    roots.some((one) =>
      (one.below ?? [one.path]).some((below) => isWithin(path, below) || isWithin(below, path)),
    ) && roots.some((one) => isWithin(path, one.path));
  const linked = searchLinkedFolders(links, {
    rules,
    nameOf: (path) => nameIn(root, path),
    shown,
    maxEntries,
  });
  if (linked.beyond)
    throw cannotFence(
      `more than ${maxEntries} entries lie behind links such as "${toPrintable(nameIn(root, linked.beyond.link))}", too many to look for what ${linked.beyond.rule.where} keeps from it there`,
      'Write the rule for the place itself instead of a path through the link.',
    );
  return { found: [...found, ...linked.found], followed: linked.followed };
}

function scanRoot(scanner: TreeScanner, root: FencedRoot, workspace: string, maxEntries: number): TreeScan {
  const extra = !isWithin(root.path, workspace);
  const scan = scanner.scan(root.path, {
    ...(root.below ? { below: root.below } : {}),
    ...(extra ? { maxEntries } : {}),
  });
  if (scan) return scan;
  throw cannotFence(
    `"${root.path}" holds more than ${maxEntries} entries, too many to look for what must be kept from it`,
    'Name smaller folders in paths.extra_roots or in what the tool may read and write.',
  );
}

/** The nearest folder on the way to it that text can name, as bubblewrap needs it: a fence there holds all below. */
function fenceable(
  path: string,
  one: Pick<Found, 'path' | 'rule'>,
  workspace: string,
  roots: readonly FencedRoot[],
): string {
  if (isText(path)) return path;
  let at = path;
  while (!isText(at)) at = dirname(at);
  if (!roots.some((root) => isWithin(root.path, at))) return at;
  throw cannotFence(
    `"${toPrintable(nameIn(workspace, path))}" must be kept from it (${one.rule}), and its name is not UTF-8`,
    'Rename what is not UTF-8 on the way to it, or move it into a folder of its own below.',
  );
}

/** What rules forbid by name, and what a repository would read, where a program could make it. */
function forbiddenNames(
  { root, policy }: FenceScope,
  roots: readonly FencedRoot[],
  unmade: ReadonlySet<string>,
): (Wanted & { readonly hides?: boolean })[] {
  const wanted = new Map<string, Wanted & { readonly hides?: boolean }>();
  for (const path of unmade)
    if (isText(path) && isWritable(roots, path) && nearest(dirname(path)))
      wanted.set(path, { path, folder: false });
  for (const { glob, read, except = [] } of policy.fences.filter(({ write }) => write)) {
    for (const { path: name, folder } of literalPaths(glob)) {
      const path = realPlace(resolve(root, name));
      if (!isWritable(roots, path) || except.some((one) => compilePathGlob(one).matches(name))) continue;
      if (nearest(dirname(path)) && (read || !wanted.has(path)))
        wanted.set(path, { path, folder, ...(read ? { hides: true } : {}) });
    }
  }
  // Where one lies below another, the upper one holds both.
  return [...wanted.values()].filter(
    ({ path }) => ![...wanted.keys()].some((other) => other !== path && isWithin(path, other)),
  );
}

const isWritable = (roots: readonly FencedRoot[], path: string): boolean =>
  roots.some(({ writable }) => writable.some((one) => path !== one && isWithin(path, one)));

/** Where it would be made: behind the links on the way to it. */
function realPlace(path: string): string {
  const folder = dirname(path);
  if (folder === path) return path;
  const real = realPathOf(folder) ?? realPlace(folder);
  return `${real === '/' ? '' : real}/${basename(path)}`;
}

/** Whether what is there on the way is a folder under its own name. */
function nearest(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    const stat = ignoreErrors(() => lstatSync(at, { throwIfNoEntry: false }));
    if (stat) return stat.isDirectory() && ignoreErrors(() => realpathSync.native(at)) === at;
    if (at === dirname(at)) return false;
  }
}

/** Where many entries of a folder are denied alike, and no other is in it, the folder stands for them. */
function merge(found: readonly Found[], scans: readonly TreeScan[]): Found[] {
  const whole = new Map(scans.flatMap((scan) => [...scan.whole]));
  if (whole.size === 0) return [...found];
  const merged = new Map<string, Found>();
  return found.flatMap((one) => {
    const folder = dirname(one.path);
    if (!whole.has(folder) || one.kind !== 'rule') return [one];
    if (merged.has(folder)) return [];
    const standIn: Found = { ...one, path: folder, type: 'folder' };
    merged.set(folder, standIn);
    return [standIn];
  });
}

/** What a link stands for: a mount cannot be put on the link itself. */
function ledTo(one: Found): string[] {
  if (one.kind === 'git') return [];
  const real = realPathOf(one.path);
  return real === undefined ? [] : [real];
}

/** What belongs to a finding without lying in it: the packs of a workspace below. */
function beyond(one: Found, workspace: string): string[] {
  const folder = dirname(one.path);
  // The workspace's own packs are policy's to name.
  if (one.kind !== 'policy' || folder === workspace || !one.path.endsWith('/haft.yaml')) return [];
  const text = readText(one.path);
  const words = text === undefined ? undefined : packWords(text);
  // Where it cannot be told what is a pack, anything in the folder may be one.
  if (!words) return [folder];
  return words.flatMap((word) => {
    const path = realPathOf(resolve(folder, word));
    return path === undefined || isWithin(folder, path) ? [] : [path];
  });
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) if (folders.has(at)) return true;
  return false;
}

function nameIn(workspace: string, path: string): string {
  if (path === workspace) return '.';
  return isWithin(path, workspace) ? path.slice(workspace.length + 1) : path;
}

const replaceable = (link: string): [string, string] => [
  `the link "${link}" leads to Haft's own folder, and a program could replace it`,
  'Make it a folder, set XDG_CONFIG_HOME and XDG_CACHE_HOME to folders outside of the workspace, or work in a smaller one.',
];

const leadsToAll = (one: Found, workspace: string) =>
  cannotFence(
    `the link "${toPrintable(nameIn(workspace, one.path))}" must be kept from it (${one.rule}), and leads to all that it is shown`,
    'Remove the link, or take the rule away.',
  );

function tooMany(found: readonly Found[]) {
  const counts = new Map<string, number>();
  for (const { rule } of found) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  const [[rule, count] = ['', 0]] = [...counts].sort(([, a], [, b]) => b - a);
  return cannotFence(
    `${found.length} paths would have to be kept from it, more than ${MAX_FENCES}; ${count} of them by ${rule}`,
    'Write the rule for a folder that holds them, such as "secrets/**", or keep them in fewer folders.',
  );
}

const cannotFence = (fact: string, hint?: string) =>
  fail('sandbox.unfenceable', `Cannot run the program: ${fact}`, hint ? { hint } : undefined);

interface LiteralPath {
  /** Normal; absolute where the glob is. */
  readonly path: string;
  /** Whether the glob says that it is a folder: `name/**`. */
  readonly folder: boolean;
}

export function literalPaths(glob: string): LiteralPath[] {
  const start = glob.startsWith('/') ? '/' : '';
  return parseGlob(glob.slice(start.length)).flatMap((tokens) => {
    const spans = isSpan(tokens.slice(-3));
    const text = textOf(spans ? tokens.slice(0, -3) : tokens);
    return text === undefined || text === ''
      ? []
      : [{ path: start + text, folder: spans || glob.endsWith('/') }];
  });
}

const isSpan = (tokens: readonly GlobToken[]): boolean =>
  tokens.map(({ kind }) => kind).join() === 'slash,star,star';

function textOf(tokens: readonly GlobToken[]): string | undefined {
  let text = '';
  for (const token of tokens) {
    if (token.kind === 'slash') text += '/';
    else if (token.kind === 'char') text += String.fromCodePoint(token.code);
    else return undefined;
  }
  return text;
}
