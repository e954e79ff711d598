// Owns: refusing an edit of a file that is not the version its caller has seen.
// Refuses: to take anything but a regular file for a version, and to tell the hash of one that the caller may not read.
import { fail } from '../../../contract/errors.ts';
import { cannot } from '../path-failures.ts';
import { nameOf, type Place } from '../root.ts';
import type { Planning } from './planning.ts';
import type { Look } from './view.ts';

/** Throws `file.conflict`, with the present hash where there is a file that the caller may read. */
export async function expectHash(
  planning: Planning,
  place: Place,
  seen: Look,
  expected: string | undefined,
  verb: string,
): Promise<void> {
  if (expected === undefined) return;
  const actual = await hashOf(planning, place, seen);
  if (actual === expected.toLowerCase()) return;
  const told = planning.scope.visible(nameOf(place.root, place.rel)) ? actual : undefined;
  const fact = actual === undefined ? 'there is no such file' : whatItIs(told);
  throw fail('file.conflict', `${cannot({ ...place, verb })}: ${expected} was expected, but ${fact}`, {
    expected_sha256: expected,
    actual_sha256: told ?? null,
  });
}

/** Of what has few possible contents, such as a short password, a hash is as good as the content. */
const whatItIs = (hash: string | undefined): string =>
  hash === undefined
    ? 'it is another, which is not told: policy keeps this tool from reading it'
    : `its sha256 is ${hash}`;

async function hashOf(planning: Planning, place: Place, seen: Look): Promise<string | undefined> {
  if (seen.type !== 'file') return undefined;
  if (seen.is === 'disk') return (await planning.preImages.hash(place, seen.stat)).slice('sha256:'.length);
  const state = seen.state();
  return state?.type === 'file' ? state.object.slice('sha256:'.length) : undefined;
}
