// Owns: a .gitignore: what each line means and whether a path matches it, as git does it, compiled so that common lines cost one
// look-up; and the order in which files decide.
// Refuses: to read files or to walk (that an ignored folder hides what is below is the walk's business), and regular expressions:
// matching takes pattern × text steps at most, whatever the line says.
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

interface IgnorePattern {
  readonly negated: boolean;
  readonly dirOnly: boolean;
  /** Matched against the last component at any depth; else against the path from the file's folder. */
  readonly basename: boolean;
  /** What the text must begin with. For a pattern without wildcards: what it must be. */
  readonly literal: string;
  /** What follows the literal: segments between slashes. Empty when the literal is all. */
  readonly rest: readonly Segment[];
  /** Has something that stands for exactly one byte: text must be given as bytes. */
  readonly byBytes: boolean;
}

/** `**` between slashes, or the items of one segment. */
type Segment = 'any depth' | readonly Item[];
/** A byte, `*`, `?`, or a set of bytes. */
type Item = string | { readonly kind: 'star' } | { readonly kind: 'one' } | ByteSet;
interface ByteSet {
  readonly kind: 'set';
  has(byte: number): boolean;
}

const STAR = { kind: 'star' } as const;
const ONE = { kind: 'one' } as const;

/** Undefined for blank lines, comments, and patterns that can never match. */
function parseIgnoreLine(line: string): IgnorePattern | undefined {
  if (line.startsWith('#')) return undefined;
  let body = withoutTrailingSpaces(line);
  const negated = body.startsWith('!');
  if (negated) body = body.slice(1);
  const dirOnly = body.endsWith('/');
  if (dirOnly) body = body.slice(0, -1);
  const basename = !body.includes('/');
  if (body.startsWith('/')) body = body.slice(1);
  if (body === '') return undefined;
  // Git strips what has no wildcard first; `**` directly after it then counts as standing alone.
  const plain = body.search(/[*?[\\]/);
  if (plain < 0) return { negated, dirOnly, basename, literal: body, rest: [], byBytes: false };
  const wild = body.slice(plain);
  const byBytes = /[?[]/.test(wild);
  const rest = parseSegments(byBytes ? toBytes(wild) : wild);
  if (!rest) return undefined;
  const literal = body.slice(0, plain);
  return { negated, dirOnly, basename, literal: byBytes ? toBytes(literal) : literal, rest, byBytes };
}

/** `text` is the last component for a basename pattern, else the path. */
function matchesPattern(pattern: IgnorePattern, text: string): boolean {
  const { literal, rest } = pattern;
  if (rest.length === 0) return text === literal;
  const subject = pattern.byBytes ? toBytes(text) : text;
  if (literal !== '' && !subject.startsWith(literal)) return false;
  const ending = rest[rest.length - 1]!;
  if (ending !== 'any depth' && !canEnd(ending, subject)) return false;
  const first = rest[0]!;
  if (rest.length === 1 && first !== 'any depth') {
    return (
      matchesSegment(first, subject, literal.length) &&
      (pattern.basename || !subject.includes('/', literal.length))
    );
  }
  return matchesSegments(rest, subject.slice(literal.length).split('/'));
}

/** A quick look at the last byte, which spares most names the rest. */
function canEnd(items: readonly Item[], text: string): boolean {
  const last = items[items.length - 1];
  return last === undefined || last === STAR || matchesItem(last, text, text.length - 1);
}

/** Git matches bytes: `?` is one byte of a name. Each byte becomes one character here. */
function toBytes(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return Buffer.from(text).toString('latin1');
  }
  return text;
}

/** Unless a backslash keeps them. Tabs stay, as in git. */
function withoutTrailingSpaces(line: string): string {
  let end = 0;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '\\') {
      i++;
      end = i + 1;
    } else if (line[i] !== ' ') {
      end = i + 1;
    }
  }
  return line.slice(0, end);
}

function matchesSegments(segments: readonly Segment[], parts: readonly string[]): boolean {
  // Only the latest `**` needs to be tried again: a later one can take over whatever an earlier one left.
  let s = 0;
  let p = 0;
  let retrySegment = -1;
  let retryPart = 0;
  while (p < parts.length) {
    const segment = segments[s];
    if (segment === 'any depth') {
      if (s === segments.length - 1) return true;
      retrySegment = ++s;
      retryPart = p;
    } else if (segment !== undefined && matchesSegment(segment, parts[p]!, 0)) {
      s++;
      p++;
    } else if (retrySegment >= 0) {
      s = retrySegment;
      p = ++retryPart;
    } else {
      return false;
    }
  }
  return s === segments.length;
}

function matchesSegment(items: readonly Item[], text: string, from: number): boolean {
  let i = 0;
  let t = from;
  let retryItem = -1;
  let retryText = 0;
  while (t < text.length) {
    const item = items[i];
    if (item === STAR) {
      if (i === items.length - 1) return true;
      retryItem = ++i;
      retryText = t;
    } else if (item !== undefined && matchesItem(item, text, t)) {
      i++;
      t++;
    } else if (retryItem >= 0) {
      i = retryItem;
      t = ++retryText;
    } else {
      return false;
    }
  }
  while (items[i] === STAR) i++;
  return i === items.length;
}

function matchesItem(item: Item, text: string, at: number): boolean {
  if (typeof item === 'string') return item === text[at];
  if (item.kind === 'set') return item.has(text.charCodeAt(at));
  return item.kind === 'one';
}

/** Undefined when the pattern is malformed, which git lets match nothing. */
function parseSegments(wild: string): Segment[] | undefined {
  const segments: Segment[] = [];
  let items: Item[] = [];
  let stars = 0;
  const endSegment = () => {
    segments.push(stars >= 2 && items.length === 1 ? 'any depth' : items);
    items = [];
    stars = 0;
  };
  for (let i = 0; i < wild.length; i++) {
    const char = wild[i]!;
    if (char === '*') {
      stars++;
      if (items.at(-1) !== STAR) items.push(STAR);
    } else if (char === '/') {
      endSegment();
    } else if (char === '?') {
      items.push(ONE);
    } else if (char === '[') {
      const set = parseSet(wild, i + 1);
      if (!set) return undefined;
      items.push(set.set);
      i = set.end;
    } else {
      const literal = char === '\\' ? wild[++i] : char;
      if (literal === undefined) return undefined;
      if (literal === '/') endSegment();
      else items.push(literal);
    }
  }
  endSegment();
  return segments;
}

/** `[a-z]`, `[!x]`, `[[:alpha:]_]`, from behind the bracket; `end` is the closing one. */
function parseSet(wild: string, from: number): { set: ByteSet; end: number } | undefined {
  let i = from;
  const negated = wild[i] === '!' || wild[i] === '^';
  if (negated) i++;
  const tests: ((byte: number) => boolean)[] = [];
  let previous = -1;
  for (let first = true; first || wild[i] !== ']'; i++, first = false) {
    let char = wild[i];
    if (char === undefined) return undefined;
    if (char === '-' && previous >= 0 && wild[i + 1] !== undefined && wild[i + 1] !== ']') {
      char = wild[++i];
      if (char === '\\') char = wild[++i];
      if (char === undefined) return undefined;
      const [low, high] = [previous, char.charCodeAt(0)];
      tests.push((byte) => byte >= low && byte <= high);
      previous = -1;
      continue;
    }
    if (char === '[' && wild[i + 1] === ':') {
      const close = wild.indexOf(']', i + 2);
      if (close < 0) return undefined;
      if (wild[close - 1] === ':' && close - 1 >= i + 2) {
        const test = CLASSES[wild.slice(i + 2, close - 1)];
        if (!test) return undefined;
        tests.push((byte) => byte < 128 && test.test(String.fromCharCode(byte)));
        previous = -1;
        i = close;
        continue;
      }
    }
    if (char === '\\') char = wild[++i];
    if (char === undefined) return undefined;
    const only = char.charCodeAt(0);
    tests.push((byte) => byte === only);
    previous = only;
  }
  return { set: { kind: 'set', has: (byte) => tests.some((test) => test(byte)) !== negated }, end: i };
}

const CLASSES: { readonly [name: string]: RegExp } = {
  alnum: /[a-zA-Z0-9]/,
  alpha: /[a-zA-Z]/,
  blank: /[ \t]/,
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/,
  space: /[ \t\n\v\f\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9a-fA-F]/,
};
