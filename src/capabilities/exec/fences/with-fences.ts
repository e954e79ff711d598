// Owns: one program's time behind its fences: placeholders before; afterwards, however it ended, a second look for what it left that
// may not be there, which is moved out of the way and told, and for links on the way to a repository, which are put back.
// Refuses: to run anything itself, to lose anything (what is moved lies in .haft/quarantine as it was), and to call the end of a
// program that left such things a success.
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fromBytes, isText, toPrintable, toSystem } from '../../../base/byte-path.ts';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { CallScope } from '../../../contract/capability.ts';
import { type Failure, fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { gitFolders, isThere, realPathOf, statOf } from '../../git-folders.ts';
import { programsOfRepository } from '../git-environment.ts';
import type { FencedRoot, FenceFinder, Fences } from './find-fences.ts';
import { type Held, holdFences, holdPlaceholders, type ProcessNames } from './placeholders.ts';
import { type Found, isRepository, list } from './scan-tree.ts';

export interface FenceKeeper extends FenceFinder {
  readonly names: ProcessNames;
}

/**
 * Throws `policy.quarantined` whatever `run` came to, where it left what may not be there, and `sandbox.fence_fell` where
 * something was put in the place of what a fence was on, or of a link on the way there.
 */
export async function withFences<T>(
  scope: CallScope,
  keeper: FenceKeeper,
  roots: readonly FencedRoot[],
  fences: Fences,
  run: (held: Held) => Promise<T>,
): Promise<T> {
  const held = holdPlaceholders(scope.root, fences, keeper.names);
  const releaseFences = holdFences(scope.root, [...fences.ruled, ...held.paths], keeper.names);
  try {
    const before = identities(scope.root, fences);
    const links = rememberLinks(fences.onTheWay);
    const [ended] = await Promise.allSettled([run(held)]);
    const relinked = putLinksBack(scope, roots, links);
    try {
      quarantineForbidden(scope, keeper, roots, fences);
    } catch (thrown) {
      if (relinked.length === 0 || (thrown as Failure).reason !== 'policy.quarantined') throw thrown;
      throw linksReplaced(scope.root, relinked, thrown as Failure);
    }
    const fallen = fallenSince(before);
    if (fallen.length > 0) throw fenceFell(scope.root, fallen);
    if (relinked.length > 0) throw linksReplaced(scope.root, relinked);
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  } finally {
    releaseFences();
    held.release();
  }
}

/** The same where nothing is fenced, because there is no sandbox. */
export async function withoutFences<T>(
  scope: CallScope,
  keeper: FenceKeeper,
  roots: readonly FencedRoot[],
  run: () => Promise<T>,
): Promise<T> {
  const sight = keeper.look(scope, roots);
  const [ended] = await Promise.allSettled([run()]);
  quarantineForbidden(scope, keeper, roots, {
    ...sight,
    hidden: [],
    readOnly: [],
    ruled: [],
    missing: [],
    present: [],
    onTheWay: [],
  });
  if (ended.status === 'rejected') throw ended.reason;
  return ended.value;
}

/** Of all that is fenced, by absolute path: a mount goes away when another thing takes the name that it is on. */
export function identities(root: string, { hidden, readOnly }: Fences): ReadonlyMap<string, string> {
  return new Map(
    [...hidden, ...readOnly].map((name) => [resolve(root, name), identityOf(resolve(root, name))]),
  );
}

const fallenSince = (before: ReadonlyMap<string, string>): string[] =>
  [...before].filter(([path, id]) => identityOf(path) !== id).map(([path]) => path);

const LOOK_EVERY_MS = 250;

/** For a program that stays: told once, soon after something took the place of what a fence is on. */
export function watchFences(root: string, fences: Fences, onFallen: () => void): { stop(): void } {
  const before = identities(root, fences);
  const timer = setInterval(() => {
    if (fallenSince(before).length === 0) return;
    clearInterval(timer);
    onFallen();
  }, LOOK_EVERY_MS).unref();
  return { stop: () => clearInterval(timer) };
}

function identityOf(path: string): string {
  const stat = ignoreErrors(() => lstatSync(path, { throwIfNoEntry: false }));
  return stat ? `${stat.dev}:${stat.ino}` : '';
}

const MOST_NAMED = 5;

function fenceFell(root: string, fallen: readonly string[]) {
  const paths = fallen.map((path) =>
    toPrintable(path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path),
  );
  const named = paths
    .slice(0, MOST_NAMED)
    .map((path) => `"${path}"`)
    .join(', ');
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '';
  return fail(
    'sandbox.fence_fell',
    `The program ran, and ${named}${more}, which it was kept from, was replaced meanwhile: from then on it could be reached. Look at it, and at what the program made, before you trust either`,
    { paths },
  );
}

type QuarantineScope = Pick<CallScope, 'root' | 'policy' | 'callId'>;

/**
 * Throws `policy.quarantined` where something is there that a program may not make, was not there before, and that no
 * fence kept. A link that stood there before is put back.
 */
export function quarantineForbidden(
  scope: QuarantineScope,
  finder: FenceFinder,
  roots: readonly FencedRoot[],
  before: Fences,
): void {
  const known = new Map(before.found.map((one) => [one.path, one]));
  // Its own state is fenced always, also where it is made only now.
  const fenced = ['.haft', ...before.hidden, ...before.readOnly].map((path) => resolve(scope.root, path));
  const isNew = (one: Found) =>
    one.forbidden && !isSame(known.get(one.path), one) && !fenced.some((path) => isWithin(one.path, path));
  // However much it made: what lies beside a full folder is looked at all the same.
  const look = () => finder.look(scope, roots, Number.POSITIVE_INFINITY).found.filter(isNew);
  const appeared = opened(look)
    .filter((one) => known.has(one.path) || !isHarmless(one, scope.root, roots))
    .map((one) => byNewLink(one, before.followed));
  const lost = before.found.filter(
    ({ path, type, forbidden }) => forbidden && type === 'link' && !isThere(path),
  );
  if (appeared.length === 0 && lost.length === 0) return;
  const moved: Moved[] = [];
  for (const one of appeared) {
    // What lay in something that was moved went with it.
    if (moved.some(({ path, to }) => to !== undefined && isWithin(one.path, path))) continue;
    moved.push({ ...one, to: quarantine(scope, roots, one.path) });
  }
  for (const { path, target } of before.found)
    if (target !== undefined && !isThere(path))
      ignoreErrors(() => symlinkSync(toSystem(target), toSystem(path)));
  throw quarantined(scope.root, [...moved, ...lost.map((one) => ({ ...one, to: undefined }))]);
}

type Moved = Found & { readonly to: string | undefined };

const isSame = (before: Found | undefined, now: Found): boolean =>
  before !== undefined && before.target === now.target && (before.type === 'link') === (now.type === 'link');

/** What a rule names only through a link that the program made was perhaps there before: the link goes. */
function byNewLink(one: Found, followed: ReadonlyMap<string, string>): Found {
  const link = one.via?.find((path) => followed.get(path) !== realPathOf(path));
  return link === undefined ? one : { ...one, path: link, type: 'link' };
}

/** A program may have closed a folder to its owner: opened again, it can be looked into. */
function opened(look: () => Found[]): Found[] {
  const tried = new Set<string>();
  for (;;) {
    const found = look();
    const closed = found.filter(({ kind, path }) => kind === 'unreadable' && !tried.has(path));
    if (closed.length === 0) return found;
    for (const { path } of closed) {
      tried.add(path);
      open(path);
    }
  }
}

function open(path: string): void {
  const stat = ignoreErrors(() => lstatSync(toSystem(path)));
  if (stat?.isDirectory() && stat.uid === process.geteuid?.())
    ignoreErrors(() => chmodSync(toSystem(path), (stat.mode & 0o7777) | 0o700));
}

/**
 * A repository that a program made or cloned below stays, where git would start nothing of it, and where nothing of it lies
 * beside it: what does not look like a repository can be written by everybody.
 */
function isHarmless(one: Found, workspace: string, roots: readonly FencedRoot[]): boolean {
  if (one.kind !== 'git' || dirname(one.path) === workspace) return false;
  const isHead = basename(one.path) === 'HEAD';
  const { gitDirs, places } = gitFolders(isHead ? dirname(one.path) : one.path);
  const isHeld = (path: string) => {
    const root = roots.find((shown) => isWithin(path, shown.path));
    return root !== undefined && isPartOfRepository(path, root.path);
  };
  return (
    (one.type === 'folder' || gitDirs.length > 0) &&
    places.every(isHeld) &&
    gitDirs.every((path) => programsOfRepository(path).length === 0)
  );
}

/** Whether it lies in a folder that is kept by its name or by what is in it. */
function isPartOfRepository(path: string, root: string): boolean {
  for (let at = path; at !== root; at = dirname(at))
    if (basename(at) === '.git' || isRepository(list(at) ?? [])) return true;
  return false;
}

/** Where it lies now, relative to the workspace; undefined where it could not be moved. */
function quarantine(
  { root, callId }: QuarantineScope,
  roots: readonly FencedRoot[],
  path: string,
): string | undefined {
  const home = roots.find((one) => isWithin(path, one.path) && path !== one.path);
  if (!home) return undefined;
  const folder = join('.haft', 'quarantine', callId);
  const name = toPrintable(isWithin(path, root) ? path.slice(root.length + 1) : path.slice(1));
  for (const wanted of [name, 'moved']) {
    let to = join(folder, wanted);
    for (let n = 2; isThere(join(root, to)); n++) to = join(folder, `${wanted}.${n}`);
    if (move(path, join(root, to), home.path)) return to;
    if (!isThere(path)) return undefined;
  }
  return undefined;
}

/** `home`: a folder on the same disk that text can name. */
function move(path: string, target: string, home: string): boolean {
  if (!succeeds(() => mkdirSync(dirname(target), { recursive: true, mode: 0o700 }))) return false;
  const rename = () => renameSync(toSystem(path), target);
  if (succeeds(rename)) return true;
  open(path); // a folder that its owner may not write cannot be moved
  if (succeeds(rename)) return true;
  if (isText(path)) return copyAway(path, target);
  const aside = join(home, `.moved-${basename(target)}-${process.pid}`.slice(0, 200));
  if (isThere(aside) || !succeeds(() => renameSync(toSystem(path), aside))) return false;
  if (copyAway(aside, target)) return true;
  ignoreErrors(() => renameSync(aside, toSystem(path)));
  return false;
}

const copyAway = (path: string, target: string): boolean =>
  succeeds(() => {
    cpSync(path, target, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    rmSync(path, { recursive: true, force: true });
  });

function quarantined(root: string, all: readonly Moved[]) {
  const nameOf = (path: string) => toPrintable(isWithin(path, root) ? path.slice(root.length + 1) : path);
  const sentence = ({ path, rule, to, type }: Moved) =>
    to !== undefined
      ? `"${nameOf(path)}" (${rule}) was moved to ${to}`
      : type === 'link' && isThere(path)
        ? `the link "${nameOf(path)}" (${rule}) was removed and is put back`
        : `"${nameOf(path)}" (${rule}) could not be moved away: remove it before you go on`;
  const named = all.slice(0, MOST_NAMED).map(sentence).join('; ');
  const more = all.length > MOST_NAMED ? `; and ${all.length - MOST_NAMED} more` : '';
  const admit = all.find((one) => one.admit !== undefined)?.admit;
  return fail(
    'policy.quarantined',
    `The program ran, and what it may not make was there when it had ended: ${named}${more}`,
    {
      rule: all[0]!.rule,
      ...(admit ? { admit } : {}),
      moved: all.map(({ path, rule, to }) => ({ path: nameOf(path), rule, ...(to ? { to } : {}) })),
    },
  );
}

/** By absolute path: where each leads, as written. */
type KnownLinks = ReadonlyMap<string, string>;

interface Relinked {
  readonly path: string;
  /** Whether it is as it was. */
  readonly isBack: boolean;
  /** What took its place, or the place of a folder around it: where that lies now. */
  readonly moved: readonly string[];
}

const rememberLinks = (paths: readonly string[]): KnownLinks =>
  new Map(
    paths.flatMap((path) => {
      const target = targetOf(path);
      return target === undefined ? [] : [[path, target] as const];
    }),
  );

/** Those that were another thing when the program had ended. One with the same target is the same. */
function putLinksBack(scope: QuarantineScope, roots: readonly FencedRoot[], known: KnownLinks): Relinked[] {
  return [...known].flatMap(([path, target]): Relinked[] => {
    const root = roots.find((one) => isWithin(path, one.path))?.path ?? scope.root;
    const inTheWay = foldersBetween(root, path).find((folder) => isThere(folder) && !isFolder(folder));
    if (inTheWay === undefined && targetOf(path) === target) return [];
    const moved = [inTheWay, path].flatMap((one) =>
      one !== undefined && isThere(one) ? [quarantine(scope, roots, one)] : [],
    );
    const isBack =
      !moved.includes(undefined) &&
      succeeds(() => mkdirSync(toSystem(dirname(path)), { recursive: true })) &&
      succeeds(() => symlinkSync(toSystem(target), toSystem(path)));
    return [{ path, isBack, moved: moved.filter((to) => to !== undefined) }];
  });
}

/** `besides`: what else the program left that may not be there, as `policy.quarantined` says it. */
function linksReplaced(root: string, all: readonly Relinked[], besides?: Failure) {
  const nameOf = (path: string) => toPrintable(isWithin(path, root) ? path.slice(root.length + 1) : path);
  const sentence = ({ path, isBack, moved }: Relinked) =>
    `"${nameOf(path)}" ${isBack ? 'is put back' : 'could not be put back: restore it before you use git'}${
      moved.length > 0 ? ` (what took its place was moved to ${moved.join(' and ')})` : ''
    }`;
  const named = all.slice(0, MOST_NAMED).map(sentence).join('; ');
  const more = all.length > MOST_NAMED ? `; and ${all.length - MOST_NAMED} more` : '';
  return fail(
    'sandbox.fence_fell',
    `The program ran, and replaced links by which a git repository is led to its parts: ${named}${more}. Git may have used what they led to meanwhile${besides ? `. ${besides.message}` : ''}`,
    {
      paths: all.map(({ path }) => nameOf(path)),
      moved: [
        ...all.flatMap(({ path, moved }) =>
          moved.map((to) => ({ path: nameOf(path), rule: 'protected:.git', to })),
        ),
        ...((besides?.details?.moved as readonly JsonObject[] | undefined) ?? []),
      ],
    },
  );
}

/** From the outermost on, without the root. */
function foldersBetween(root: string, path: string): string[] {
  const folders: string[] = [];
  for (let at = dirname(path); at !== root && at !== dirname(at); at = dirname(at)) folders.unshift(at);
  return folders;
}

const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true;

const targetOf = (path: string): string | undefined =>
  statOf(path)?.isSymbolicLink()
    ? ignoreErrors(() => fromBytes(readlinkSync(toSystem(path), 'buffer'))) || undefined
    : undefined;
