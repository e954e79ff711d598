// Owns: refusing an edit of a file that is not the version its caller has seen.
// Refuses: to take anything but a regular file for a version.
import { fail } from '../../../contract/errors.ts';
import { cannot } from '../path-failures.ts';
import type { Place } from '../root.ts';
import type { Planning } from './planning.ts';
import type { Look } from './view.ts';

/** Throws `file.conflict`, with the present hash where there is a file. */
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
  const fact = actual === undefined ? 'there is no such file' : `its sha256 is ${actual}`;
  throw fail('file.conflict', `${cannot({ ...place, verb })}: ${expected} was expected, but ${fact}`, {
    expected_sha256: expected,
    actual_sha256: actual ?? null,
  });
}

async function hashOf(planning: Planning, place: Place, seen: Look): Promise<string | undefined> {
  if (seen.type !== 'file') return undefined;
  if (seen.is === 'disk') return (await planning.preImages.hash(place, seen.stat)).slice('sha256:'.length);
  const state = seen.state();
  return state?.type === 'file' ? state.object.slice('sha256:'.length) : undefined;
}
