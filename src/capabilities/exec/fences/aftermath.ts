// Owns: what a program left that may not be there: found by a second look, moved out of the way, and told.
// Refuses: to lose anything (what is moved lies in .haft/quarantine as it was), and to call such a program's end a success.
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fromBytes, isText, toPrintable, toSystem } from '../../../base/byte-path.ts';
import { orUndefined, succeeds } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';
import type { CallScope } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import { gitFolders } from '../../git-folders.ts';
import { programsOfRepository } from '../git/repository-programs.ts';
import type { FencedRoot, FenceFinder, Fences } from './find-fences.ts';
import { type Found, isRepository, list } from './scan-tree.ts';

export type AftermathScope = Pick<CallScope, 'root' | 'policy' | 'callId'>;

/**
 * Throws `policy.quarantined` where something is there that a program may not make, was not there before, and that no
 * fence kept. A link that stood there before is put back.
 */
export function checkAftermath(
  scope: AftermathScope,
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
      orUndefined(() => symlinkSync(toSystem(target), toSystem(path)));
  throw quarantined(scope.root, [...moved, ...lost.map((one) => ({ ...one, to: undefined }))]);
}

type Moved = Found & { readonly to: string | undefined };

const isSame = (before: Found | undefined, now: Found): boolean =>
  before !== undefined && before.target === now.target && (before.type === 'link') === (now.type === 'link');

/** What a rule names only through a link that the program made was perhaps there before: the link goes. */
function byNewLink(one: Found, followed: ReadonlyMap<string, string>): Found {
  const link = one.via?.find((path) => followed.get(path) !== realOf(path));
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
  const stat = orUndefined(() => lstatSync(toSystem(path)));
  if (stat?.isDirectory() && stat.uid === process.geteuid?.())
    orUndefined(() => chmodSync(toSystem(path), (stat.mode & 0o7777) | 0o700));
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
export function quarantine(
  { root, callId }: AftermathScope,
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
  orUndefined(() => renameSync(aside, toSystem(path)));
  return false;
}

const copyAway = (path: string, target: string): boolean =>
  succeeds(() => {
    cpSync(path, target, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    rmSync(path, { recursive: true, force: true });
  });

const realOf = (path: string): string | undefined =>
  orUndefined(() => fromBytes(realpathSync.native(toSystem(path), 'buffer')));

const isThere = (path: string): boolean =>
  (orUndefined(() => lstatSync(toSystem(path), { throwIfNoEntry: false })) ?? undefined) !== undefined;

const MOST_NAMED = 5;

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
