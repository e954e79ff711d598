// Owns: keeping files and trees apart: a file whose bytes are a tree's manifest would have the tree's name.
// Refuses: such files, and nothing else.
import { looksLikeTree } from '../../base/tree-manifest.ts';
import { fail } from '../../contract/errors.ts';

export function refuseManifest(head: Uint8Array): void {
  if (looksLikeTree(head))
    throw fail(
      'input.encoding',
      "Cannot import the file: its bytes begin like Haft's own manifest of a tree",
    );
}

/** The same chunks; the first bytes of them are looked at on the way. */
export async function* refuseManifests(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (head.length < LOOKED_AT) {
      head = Buffer.concat([head, chunk.subarray(0, LOOKED_AT - head.length)]);
      refuseManifest(head);
    }
    yield chunk;
  }
}

const LOOKED_AT = 64;
