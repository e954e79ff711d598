// Owns: a whole .gitignore, compiled so that common lines cost one look-up, and the order in which files decide.
// Refuses: to read files or to walk; that an ignored folder hides what is below is the walk's business.
import { type IgnorePattern, matchesPattern, parseIgnoreLine } from './ignore-pattern.ts';

export interface IgnoreRules {
  /** True: ignored. False: a `!` line takes it back. Undefined: no line matches. `path` is from the file's folder. */
  decide(name: string, path: string, isDirectory: boolean): boolean | undefined;
}

/** The rules that hold in one folder: its own file, then its parents', nearest first, then `.git/info/exclude`. */
export interface IgnoreScope {
  readonly rules: IgnoreRules;
  /** Length of the folder's path with its trailing slash: what to cut off a full path. */
  readonly depth: number;
  readonly parent: IgnoreScope | undefined;
}

/** `path` is relative to the root of all. The nearest file that has anything to say decides. */
export function isIgnored(
  scope: IgnoreScope | undefined,
  name: string,
  path: string,
  isDirectory: boolean,
): boolean {
  for (let at = scope; at; at = at.parent) {
    const verdict = at.rules.decide(name, at.depth === 0 ? path : path.slice(at.depth), isDirectory);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

/** Undefined when no line says anything. */
export function compileIgnoreRules(text: string): IgnoreRules | undefined {
  const patterns: IgnorePattern[] = [];
  for (const line of text.replace(/^\ufeff/, '').split('\n')) {
    const pattern = parseIgnoreLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    if (pattern) patterns.push(pattern);
  }
  return patterns.length === 0 ? undefined : indexed(patterns);
}

/**
 * The last line that matches decides. Plain names and `*.ext` are looked up, the rest is tried from the end, and what
 * a first or last letter rules out costs neither: this runs for every entry of a tree.
 */
function indexed(patterns: readonly IgnorePattern[]): IgnoreRules {
  const names = new LookUp();
  const paths = new LookUp();
  const extensions = new LookUp();
  const others: { readonly pattern: IgnorePattern; readonly index: number }[] = [];
  patterns.forEach((pattern, index) => {
    const extension = extensionOf(pattern);
    if (extension !== undefined) extensions.add(extension, pattern, index);
    else if (pattern.rest.length > 0) others.unshift({ pattern, index });
    else (pattern.basename ? names : paths).add(pattern.literal, pattern, index);
  });

  return {
    decide(name, path, isDirectory) {
      let best = names.mayHave(name) ? names.latest(name, isDirectory) : -1;
      if (paths.mayHave(path)) best = Math.max(best, paths.latest(path, isDirectory));
      if (extensions.mayHave(name)) {
        const dot = name.lastIndexOf('.');
        if (dot >= 0) best = Math.max(best, extensions.latest(name.slice(dot + 1), isDirectory));
      }
      for (const { pattern, index } of others) {
        if (index < best) break;
        if (pattern.dirOnly && !isDirectory) continue;
        if (matchesPattern(pattern, pattern.basename ? name : path)) {
          best = index;
          break;
        }
      }
      return best < 0 ? undefined : !patterns[best]!.negated;
    },
  };
}

/** Words, each with the lines that have it. */
class LookUp {
  readonly #lines = new Map<string, { readonly index: number; readonly dirOnly: boolean }[]>();
  /** One bit for each last letter that a word has. */
  #lastLetters = 0;

  add(word: string, { dirOnly }: IgnorePattern, index: number): void {
    this.#lastLetters |= lastLetterBit(word);
    const lines = this.#lines.get(word);
    if (lines) lines.push({ index, dirOnly });
    else this.#lines.set(word, [{ index, dirOnly }]);
  }

  /** False when no word ends as `text` does. */
  mayHave(text: string): boolean {
    return (this.#lastLetters & lastLetterBit(text)) !== 0;
  }

  latest(word: string, isDirectory: boolean): number {
    return this.#lines.get(word)?.findLast((line) => isDirectory || !line.dirOnly)?.index ?? -1;
  }
}

function lastLetterBit(text: string): number {
  return 1 << (text.charCodeAt(text.length - 1) & 31);
}

/** `log` for `*.log`. */
function extensionOf(pattern: IgnorePattern): string | undefined {
  const items = pattern.rest[0];
  if (!pattern.basename || pattern.literal !== '' || items === undefined || items === 'any depth')
    return undefined;
  const [star, dot, ...letters] = items;
  if (typeof star !== 'object' || star.kind !== 'star' || dot !== '.' || letters.length === 0)
    return undefined;
  if (!letters.every((letter) => typeof letter === 'string' && letter !== '.')) return undefined;
  return letters.join('');
}
