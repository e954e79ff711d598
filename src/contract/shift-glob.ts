// Owns: the glob of a path rule as it reads from a folder further down: what an outer workspace says about an inner one.
// Refuses: absolute globs; those say the same from everywhere.
import { compileGlob } from '../base/glob.ts';
import { type GlobToken, parseGlob } from '../base/glob-parse.ts';

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
  if (isSpan(first)) return [...rest(names, deeper, holdsBelow), ...rest(others, folder, holdsBelow)];
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
    everywhere || !isSpan(first) ? [whole] : others.length > 0 ? [text(others), `*/${whole}`] : ['*', '*/**'];
  return own.flatMap((one) => [one, ...wild.map((more) => `${one}${more}`)]);
}

function splitNames(tokens: readonly GlobToken[]): Name[] {
  const names: GlobToken[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'slash') names.push([]);
    else names.at(-1)!.push(token);
  }
  return names;
}

const isSpan = (name: Name): boolean => name.length === 2 && name.every(({ kind }) => kind === 'star');
const isPlain = (name: Name): boolean => name.every(({ kind }) => kind === 'char');
const text = (names: readonly Name[]): string => names.map((name) => name.map(textOf).join('')).join('/');

function textOf(token: GlobToken): string {
  if (token.kind === 'char') return escaped(token.code);
  if (token.kind === 'class') {
    const ranges = token.ranges.map(([from, to]) =>
      from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`,
    );
    return `[${token.negated ? '!' : ''}${ranges.join('')}]`;
  }
  return token.kind === 'slash' ? '/' : token.kind === 'one' ? '?' : '*';
}

const escaped = (code: number): string => {
  const char = String.fromCodePoint(code);
  return /[\\*?[\]{},]/.test(char) ? `\\${char}` : char;
};
const inClass = (code: number): string => `\\${String.fromCodePoint(code)}`;
