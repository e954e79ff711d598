// Owns: links on the way to what is fenced, which take no mount: what each was before a program ran, and each as it was afterwards.
// Refuses: to lose what took the place of one: it goes to .haft/quarantine.
import { lstatSync, mkdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { fromBytes, toPrintable, toSystem } from '../../../base/byte-path.ts';
import { orUndefined, succeeds } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';
import { type Failure, fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { type AftermathScope, quarantine } from './aftermath.ts';
import type { FencedRoot } from './find-fences.ts';

/** By absolute path: where each leads, as written. */
export type KnownLinks = ReadonlyMap<string, string>;

export interface Relinked {
  readonly path: string;
  /** Whether it is as it was. */
  readonly isBack: boolean;
  /** What took its place, or the place of a folder around it: where that lies now. */
  readonly moved: readonly string[];
}

export const rememberLinks = (paths: readonly string[]): KnownLinks =>
  new Map(
    paths.flatMap((path) => {
      const target = targetOf(path);
      return target === undefined ? [] : [[path, target] as const];
    }),
  );

/** Those that were another thing when the program had ended. One with the same target is the same. */
export function putLinksBack(
  scope: AftermathScope,
  roots: readonly FencedRoot[],
  known: KnownLinks,
): Relinked[] {
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

const MOST_NAMED = 5;

/** `besides`: what else the program left that may not be there, as `policy.quarantined` says it. */
export function linksReplaced(root: string, all: readonly Relinked[], besides?: Failure) {
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

const statOf = (path: string) => orUndefined(() => lstatSync(toSystem(path), { throwIfNoEntry: false }));
const isThere = (path: string): boolean => (statOf(path) ?? undefined) !== undefined;
const isFolder = (path: string): boolean => statOf(path)?.isDirectory() === true;

const targetOf = (path: string): string | undefined =>
  statOf(path)?.isSymbolicLink()
    ? orUndefined(() => fromBytes(readlinkSync(toSystem(path), 'buffer'))) || undefined
    : undefined;
