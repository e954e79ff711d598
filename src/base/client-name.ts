// Owns: what a tool is called where names may only have letters, digits, `_` and `-`, and at most 64 of them.
// Refuses: two ids for one name, as far as a function can: ids have no `-`, so that only names that were cut could meet.
import { sha256Hex } from './digest.ts';

const LONGEST = 64;
const HASH = 16;

/** `files.read_file` is `files-read_file`. What is too long is cut, and ends in `--` and a hash of the whole id. */
export function clientName(id: string): string {
  const name = id.replaceAll('.', '-');
  if (name.length <= LONGEST) return name;
  return `${name.slice(0, LONGEST - HASH - 2)}--${sha256Hex(id).slice(0, HASH)}`;
}
