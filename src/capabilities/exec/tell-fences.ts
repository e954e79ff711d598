// Owns: saying which fence a program met, where it complained of one.
// Refuses: to say so of a program that did not complain.
import { joinRel, normalizeRelPath } from '../../base/rel-path.ts';
import type { CallScope } from '../../contract/capability.ts';
import type { Fence } from '../../contract/policy.ts';
import { compilePathGlob } from '../../contract/policy-match.ts';

/** What programs print when the sandbox stands in their way; a mount cannot be moved or removed, hence "busy". */
const COMPLAINT =
  /read-only file system|permission denied|operation not permitted|resource busy|\b(?:EROFS|EACCES|EPERM|EBUSY)\b/i;
/** The last of what was said is looked at, and so many words of it. */
const LOOKED_AT = 64 * 1024;
const MOST_WORDS = 2000;
const MOST_TOLD = 3;

/** `cwd` as the call gave it; `stderr` as it is in the answer. */
export function tellFences(
  { root, policy, warn }: Pick<CallScope, 'root' | 'policy' | 'warn'>,
  cmd: string,
  cwd: string,
  stderr: Uint8Array,
): void {
  if (policy.fences.length === 0 || stderr.length === 0) return;
  const text = Buffer.from(stderr.subarray(-LOOKED_AT)).toString('utf8');
  const complaints = text.split('\n').filter((line) => COMPLAINT.test(line));
  if (complaints.length === 0) return;
  const fences = policy.fences.map((fence) => ({ fence, matches: matcherOf(fence) }));
  const told = new Set<string>();
  for (const word of wordsOf([...complaints, cmd])) {
    const path = placeOf(word, root, cwd);
    if (path === undefined) continue;
    const met = fences.find(({ fence, matches }) => matches(path) && !told.has(fence.glob))?.fence;
    if (!met) continue;
    told.add(met.glob);
    warn({ reason: 'path.fenced', message: messageOf(path, met) });
    if (told.size === MOST_TOLD) return;
  }
}

function matcherOf({ glob, except = [] }: Fence): (path: string) => boolean {
  const holds = compilePathGlob(glob);
  const freed = except.map(compilePathGlob);
  return (path) => holds.matches(path) && !freed.some((one) => one.matches(path));
}

/** Quotes, brackets and the like part words; what is left of a complaint holds the path as the program named it. */
function wordsOf(texts: readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const text of texts) {
    for (const word of text.split(/[\s'"`‘’()[\]{},;<>=|&]+/)) {
      const bare = word.replace(/[:.]+$/, '');
      if (bare !== '' && bare.length <= 4096) words.add(bare);
      if (words.size >= MOST_WORDS) return words;
    }
  }
  return words;
}

/** Relative to the workspace; undefined for what lies outside of it. */
function placeOf(word: string, root: string, cwd: string): string | undefined {
  const inside = word.startsWith(`${root}/`) ? word.slice(root.length + 1) : word;
  if (inside.startsWith('/')) return undefined;
  const folder = cwd.startsWith(`${root}/`) ? cwd.slice(root.length + 1) : cwd;
  const given = inside === word && !folder.startsWith('/') ? joinRel(folder, inside) : inside;
  const normal = normalizeRelPath(given);
  return normal.ok ? normal.path : undefined;
}

function messageOf(path: string, { read, where, admit }: Fence): string {
  const closed = read ? 'hidden from programs' : 'read-only to programs';
  const because = where === undefined ? 'by a rule of tools.rules' : `by ${where}`;
  const line = admit === undefined ? '' : `. To let programs at it, haft.yaml needs:\n${admit.trimEnd()}`;
  return `${path} is ${closed} ${because}${line}`;
}
