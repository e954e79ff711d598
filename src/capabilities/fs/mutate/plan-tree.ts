// Owns: looking at a whole tree on disk before an edit takes it.
// Refuses: a tree that an earlier edit of the same mutation has changed.
import { fail } from '../../../contract/errors.ts';
import { cannot, errnoOf, osFailure, raced } from '../path-failures.ts';
import type { Place } from '../root.ts';
import { fingerprint, type TreeEntry, treeEntries } from '../tree-entries.ts';
import type { Planning } from './planning.ts';

export async function entriesOf(
  planning: Planning,
  place: Place,
  verb: string,
): Promise<{ readonly entries: readonly TreeEntry[]; readonly fingerprint: string }> {
  const { is } = planning.view.look(place);
  // Who asks for its entries has seen it.
  if (is === 'nothing') throw raced({ ...place, verb });
  if (is !== 'disk' || planning.view.hasPlansBelow(place)) {
    throw fail('path.invalid', `${cannot({ ...place, verb })}: an earlier edit changes the tree`);
  }
  try {
    const entries = await treeEntries(planning.folders.open(place), planning.scope.signal);
    return { entries, fingerprint: fingerprint(entries) };
  } catch (thrown) {
    throw VANISHED.has(errnoOf(thrown)) ? raced({ ...place, verb }) : osFailure(thrown, { ...place, verb });
  }
}

/** An entry that was there is gone, or is something else by now. */
const VANISHED: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EINVAL']);
