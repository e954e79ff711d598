// Owns: "did you mean" for names of arguments: slips of typing, short forms, and the word that another program has for it.
// Refuses: a guess that fits two of the names.
import { closest } from './closest.ts';

/** What programs and models call the same thing. */
const SAME: readonly (readonly string[])[] = [
  ['path', 'file', 'filename', 'file_path', 'filepath', 'name', 'target'],
  ['src', 'source', 'from', 'old_path', 'path'],
  ['dst', 'dest', 'destination', 'to', 'new_path', 'target'],
  ['cmd', 'command', 'script', 'line', 'run'],
  ['pattern', 'query', 'regex', 'search', 'q', 'text', 'needle'],
  ['glob', 'include', 'path', 'dir', 'directory', 'folder', 'files'],
  ['cwd', 'workdir', 'working_directory', 'dir', 'directory', 'folder'],
  ['content', 'contents', 'text', 'data', 'body', 'body_b64'],
  ['timeout_ms', 'timeout'],
  ['max_results', 'limit', 'count', 'max', 'n'],
  ['diff', 'patch'],
  ['url', 'uri', 'address', 'host', 'link'],
];

export function closestArgument(word: string, known: readonly string[]): string | undefined {
  const near = closest(word, known);
  if (near !== undefined) return near;
  const sought = word.toLowerCase().replaceAll('-', '_');
  const short = known.filter((name) => isShortFor(name, sought) || isShortFor(sought, name));
  if (short.length === 1) return short[0];
  const same = SAME.filter((group) => group.includes(sought));
  return known.find((name) => same.some((group) => group.includes(name)));
}

/** `cmd` for `command`: its letters in their order, from the first on. */
function isShortFor(short: string, long: string): boolean {
  if (short.length < 3 || short.length >= long.length || short[0] !== long[0]) return false;
  let at = 0;
  for (const letter of long) if (letter === short[at]) at++;
  return at === short.length;
}
