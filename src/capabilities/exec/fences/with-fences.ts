// Owns: one program's time behind its fences: placeholders before, a second look after, however it ended.
// Refuses: to run anything itself.
import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { toPrintable } from '../../../base/byte-path.ts';
import { orUndefined } from '../../../base/or-undefined.ts';
import type { CallScope } from '../../../contract/capability.ts';
import { type Failure, fail } from '../../../contract/errors.ts';
import { checkAftermath } from './aftermath.ts';
import type { FencedRoot, FenceFinder, Fences } from './find-fences.ts';
import { linksReplaced, putLinksBack, rememberLinks } from './links-on-the-way.ts';
import { type Held, holdFences, holdPlaceholders, type ProcessNames } from './placeholders.ts';

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
  const letGo = holdFences(scope.root, [...fences.ruled, ...held.paths], keeper.names);
  try {
    const before = identities(scope.root, fences);
    const links = rememberLinks(fences.onTheWay);
    const [ended] = await Promise.allSettled([run(held)]);
    const relinked = putLinksBack(scope, roots, links);
    try {
      checkAftermath(scope, keeper, roots, fences);
    } catch (thrown) {
      if (relinked.length === 0 || (thrown as Failure).reason !== 'policy.quarantined') throw thrown;
      throw linksReplaced(scope.root, relinked, thrown as Failure);
    }
    const fallen = [...before].filter(([path, id]) => identityOf(path) !== id).map(([path]) => path);
    if (fallen.length > 0) throw fenceFell(scope.root, fallen);
    if (relinked.length > 0) throw linksReplaced(scope.root, relinked);
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  } finally {
    letGo();
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
  checkAftermath(scope, keeper, roots, {
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

function identityOf(path: string): string {
  const stat = orUndefined(() => lstatSync(path, { throwIfNoEntry: false }));
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
