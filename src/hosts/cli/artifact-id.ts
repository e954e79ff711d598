// Owns: how an artifact is named on the command line, and in the JSON that the command line prints.
// Refuses: anything but its whole id, with or without the name of the hash.
import { isDigest } from '../../base/digest.ts';
import type { Artifact } from '../../contract/artifacts.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { toWire } from '../../contract/spelling.ts';

export function artifactId(given: string): ObjectId {
  const hex = given.startsWith('sha256:') ? given.slice('sha256:'.length) : given;
  if (isDigest(hex)) return `sha256:${hex}`;
  throw fail(
    'usage',
    `Cannot find "${given.slice(0, 80)}": an artifact is named by "sha256:" and 64 hex digits (see haft artifacts list)`,
  );
}

export function artifactToWire({ id, madeBy, ...rest }: Artifact) {
  return { artifact: id, ...toWire(rest), ...(madeBy ? { made_by: toWire(madeBy) } : {}) };
}
