// Owns: matching workspace-relative paths against a glob, in time linear in the path whatever the pattern, also as seen from a folder further down.
// Refuses: regular expressions (they backtrack), and to touch the disk.
import { type CharClass, escapeGlob, type GlobToken, parseGlob, splitNames } from './glob-parse.ts';

export { globBase } from './glob-parse.ts';

interface GlobOptions {
  /** Whether wildcards match names that begin with a dot. Off: only a dot that is written out does. */
  readonly dot?: boolean;
}

/**
 * `*` and `?` stay within a name; `**` as a whole name spans any number of names; `[a-z]`, `[!x]`, `{a,b}` and
 * `\` as usual. `a/**` matches everything beneath `a` and `a` itself; `**` also matches the root, `.`.
 */
export function compileGlob(pattern: string, { dot = false }: GlobOptions = {}): (path: string) => boolean {
  const alternatives = parseGlob(pattern);
  const machine = createMachine(alternatives, dot);
  const matchesRoot = alternatives.some(
    (tokens) => tokens.length === 0 || (tokens.length === 2 && isSpan(tokens, 0)),
  );
  return (path) => (path === '.' || path === '' ? matchesRoot : machine.accepts(path));
}

/**
 * What of the pattern may still be met below a folder, as numbers that mean something only beside each other: below a folder
 * whose numbers hold those of another, it matches all that it matches below that one.
 */
export function compileGlobProgress(
  pattern: string,
  { dot = false }: GlobOptions = {},
): (folder: string) => readonly number[] {
  const machine = createMachine(parseGlob(pattern), dot);
  return (folder) => machine.after(folder === '.' || folder === '' ? '' : `${folder}/`);
}

/** A tool id against a pattern in which `*` stands for any characters, dots too: `file_*`, `pkg.*`. */
export function matchesName(pattern: string, id: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return pattern === id;
  if (!id.startsWith(head) || !id.endsWith(tail) || id.length < head.length + tail.length) return false;
  // Between the two ends, taking each part at its first place leaves the most room for the next.
  let at = head.length;
  for (const part of rest) {
    const found = id.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= id.length - tail.length;
}

/** A step of the machine: a place in the pattern, which eats one symbol of the path and goes on, stays or dies. */
type Step =
  | { readonly kind: 'char'; readonly code: number; readonly opensName: boolean }
  | { readonly kind: 'one' | 'star' }
  | CharClass
  /** `**`: at the start of a name that it spans, and (the step after) inside one. */
  | { readonly kind: 'spanStart' | 'spanInside'; readonly last: boolean }
  /** The slash before a `**` that ends the pattern. */
  | { readonly kind: 'slashOrEnd' | 'accept' };

/** A set of steps, with what was learnt about where each symbol leads. */
interface Node {
  readonly steps: readonly number[];
  readonly accepts: boolean;
  readonly next: Map<number, Node>;
}

const SLASH = 47;
const DOT = 46;
/** A dot at the start of a name is a symbol of its own; all that the pattern does not mention is one symbol together. */
const LEADING_DOT = -1;
const OTHER = -2;
/** What was learnt is thrown away when it grows beyond this many steps and moves. */
const MAX_LEARNT = 262_144;

/** All alternatives at once, as sets of steps that are worked out when a path first leads to them. */
function createMachine(alternatives: readonly GlobToken[][], dot: boolean) {
  const steps = alternatives.flatMap(toSteps);
  const starts = steps.flatMap((_, at) => (at === 0 || steps[at - 1]!.kind === 'accept' ? [at] : []));
  const symbolOf = symbolsOf(steps);
  let learnt = new Map<string, Node>();
  let learntSize = 0;
  let start = nodeOf(starts);

  /** These steps and all that they lead to for free. Free moves only lead onward, so one pass finds them. */
  function nodeOf(from: readonly number[]): Node {
    const marked = new Uint8Array(steps.length);
    const reached: number[] = [];
    let accepts = false;
    for (const at of from) marked[at] = 1;
    for (let at = from.length === 0 ? steps.length : 0; at < steps.length; at++) {
      if (marked[at] === 0) continue;
      reached.push(at);
      const free = freeMove(steps[at]!);
      if (free > 0) marked[at + free] = 1;
      accepts ||= steps[at]!.kind === 'accept';
    }
    const key = reached.join();
    let node = learnt.get(key);
    if (node === undefined) {
      node = { steps: reached, accepts, next: new Map() };
      learnt.set(key, node);
      learntSize += reached.length;
    }
    return node;
  }

  function learn(node: Node, symbol: number): Node {
    if (learntSize++ > MAX_LEARNT) {
      learnt = new Map();
      learntSize = 0;
      start = nodeOf(starts);
    }
    const next = nodeOf(
      node.steps.flatMap((at) => {
        const move = eat(steps[at]!, symbol, dot);
        return move === undefined ? [] : [at + move];
      }),
    );
    node.next.set(symbol, next);
    return next;
  }

  function follow(path: string): Node {
    let node = start;
    let opensName = true;
    for (let i = 0; i < path.length && node.steps.length > 0; i++) {
      const code = path.codePointAt(i)!;
      if (code > 0xffff) i++;
      const symbol = opensName && code === DOT ? LEADING_DOT : symbolOf(code);
      node = node.next.get(symbol) ?? learn(node, symbol);
      opensName = code === SLASH;
    }
    return node;
  }

  return {
    accepts: (path: string): boolean => follow(path).accepts,
    after: (path: string): readonly number[] => follow(path).steps,
  };
}

/** One alternative as steps. `**` counts as such only as a whole name; elsewhere it is a `*`. */
function toSteps(tokens: readonly GlobToken[]): Step[] {
  const steps: Step[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    const opensName = at === 0 || tokens[at - 1]!.kind === 'slash';
    if (isSpan(tokens, at)) {
      const last = at + 2 === tokens.length;
      steps.push({ kind: 'spanStart', last }, { kind: 'spanInside', last });
      at += 2;
    } else if (token.kind === 'slash') {
      const ends = isSpan(tokens, at + 1) && at + 3 === tokens.length;
      steps.push(ends ? { kind: 'slashOrEnd' } : { kind: 'char', code: SLASH, opensName });
    } else if (token.kind === 'char') {
      steps.push({ ...token, opensName });
    } else if (token.kind === 'class') {
      steps.push(token);
    } else {
      steps.push({ kind: token.kind });
    }
  }
  return [...steps, { kind: 'accept' }];
}

function isSpan(tokens: readonly GlobToken[], at: number): boolean {
  if (tokens[at]?.kind !== 'star' || tokens[at + 1]?.kind !== 'star') return false;
  const opens = at === 0 || tokens[at - 1]!.kind === 'slash';
  return opens && (at + 2 === tokens.length || tokens[at + 2]!.kind === 'slash');
}

/** How far on a step leads without eating anything; 0 where it does not. */
function freeMove(step: Step): number {
  if (step.kind === 'star') return 1;
  if (step.kind === 'spanStart') return 2;
  if (step.kind === 'spanInside') return step.last ? 1 : 0;
  return step.kind === 'slashOrEnd' ? 3 : 0;
}

/** How far on a step leads by eating this symbol; undefined where it cannot. */
function eat(step: Step, symbol: number, dot: boolean): number | undefined {
  if (step.kind === 'char') {
    const isDot = symbol === LEADING_DOT && step.code === DOT && (dot || step.opensName);
    return isDot || symbol === step.code ? 1 : undefined;
  }
  if (symbol === SLASH) {
    if (step.kind === 'slashOrEnd') return 1;
    return step.kind === 'spanInside' ? -1 : undefined;
  }
  if (symbol === LEADING_DOT && !dot) return undefined;
  if (step.kind === 'star' || step.kind === 'spanInside') return 0;
  if (step.kind === 'one' || step.kind === 'spanStart') return 1;
  if (step.kind === 'class') return isInClass(step, symbol === LEADING_DOT ? DOT : symbol) ? 1 : undefined;
  return undefined;
}

function isInClass({ ranges, negated }: CharClass, symbol: number): boolean {
  return ranges.some(([from, to]) => symbol >= from && symbol <= to) !== negated;
}

/** Characters that no step tells apart are one symbol, so that little has to be learnt. */
function symbolsOf(steps: readonly Step[]): (code: number) => number {
  const codes = new Set([SLASH]);
  const ranges: (readonly [number, number])[] = [];
  for (const step of steps) {
    if (step.kind === 'char') codes.add(step.code);
    if (step.kind === 'class') ranges.push(...step.ranges);
  }
  const symbol = (code: number): number =>
    codes.has(code) || ranges.some(([from, to]) => code >= from && code <= to) ? code : OTHER;
  const ascii = Int32Array.from({ length: 128 }, (_, code) => symbol(code));
  return (code) => (code < 128 ? ascii[code]! : symbol(code));
}

type Name = readonly GlobToken[];

/**
 * Globs that match, relative to `folder`, what `glob` matches relative to where the folder lies; none where it is about
 * other places. `folder` is relative, without `.` and `..`.
 */
export function shiftPathGlob(glob: string, folder: string): readonly string[] {
  if (glob.startsWith('/')) return [glob];
  const alternatives = parseGlob(glob).map(splitNames);
  // As the rules themselves are read: where one alternative ends plain, all of them hold below, too.
  const holdsBelow = alternatives.some((names) => isPlain(names.at(-1) ?? []));
  const everywhere = glob.startsWith('**');
  const shifted = alternatives.flatMap((names) => rest(names, folder.split('/'), holdsBelow));
  return [...new Set(shifted.flatMap((names) => spell(names, holdsBelow, everywhere)))];
}

/** What is left to match once the folder's names are taken off, for every way to take them off. */
function rest(names: readonly Name[], folder: readonly string[], holdsBelow: boolean): (readonly Name[])[] {
  const [first, ...others] = names;
  const [name, ...deeper] = folder;
  if (name === undefined) return names.length === 0 && !holdsBelow ? [] : [names];
  if (!first) return holdsBelow ? [[]] : [];
  if (isSpanName(first)) return [...rest(names, deeper, holdsBelow), ...rest(others, folder, holdsBelow)];
  return compileGlob(text([first]), { dot: true })(name) ? rest(others, deeper, holdsBelow) : [];
}

function spell(names: readonly Name[], holdsBelow: boolean, everywhere: boolean): readonly string[] {
  const [first, ...others] = names;
  // The folder itself, and so everything in it.
  if (!first) return ['*', '*/**', '.'];
  const wild = isPlain(names.at(-1)!) ? [] : holdsBelow ? ['/**'] : [];
  const whole = text(names);
  // A glob that begins with `**` is about all paths, and this one was about those of a workspace.
  const own =
    everywhere || !isSpanName(first)
      ? [whole]
      : others.length > 0
        ? [text(others), `*/${whole}`]
        : ['*', '*/**'];
  return own.flatMap((one) => [one, ...wild.map((more) => `${one}${more}`)]);
}

const isSpanName = (name: Name): boolean => name.length === 2 && name.every(({ kind }) => kind === 'star');
const isPlain = (name: Name): boolean => name.every(({ kind }) => kind === 'char');
const text = (names: readonly Name[]): string => names.map((name) => name.map(textOf).join('')).join('/');

function textOf(token: GlobToken): string {
  if (token.kind === 'char') return escapeGlob(String.fromCodePoint(token.code));
  if (token.kind === 'class') {
    const ranges = token.ranges.map(([from, to]) =>
      from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`,
    );
    return `[${token.negated ? '!' : ''}${ranges.join('')}]`;
  }
  return token.kind === 'slash' ? '/' : token.kind === 'one' ? '?' : '*';
}

const inClass = (code: number): string => `\\${String.fromCodePoint(code)}`;
