// Owns: the paths that a glob names outright: they can be held before anything is there.
// Refuses: patterns: what may match anything is looked for afterwards.
import { type GlobToken, parseGlob } from '../../../base/glob-parse.ts';

export interface LiteralPath {
  /** Normal; absolute where the glob is. */
  readonly path: string;
  /** Whether the glob says that it is a folder: `name/**`. */
  readonly folder: boolean;
}

export function literalPaths(glob: string): LiteralPath[] {
  const start = glob.startsWith('/') ? '/' : '';
  return parseGlob(glob.slice(start.length)).flatMap((tokens) => {
    const spans = isSpan(tokens.slice(-3));
    const text = textOf(spans ? tokens.slice(0, -3) : tokens);
    return text === undefined || text === ''
      ? []
      : [{ path: start + text, folder: spans || glob.endsWith('/') }];
  });
}

const isSpan = (tokens: readonly GlobToken[]): boolean =>
  tokens.map(({ kind }) => kind).join() === 'slash,star,star';

function textOf(tokens: readonly GlobToken[]): string | undefined {
  let text = '';
  for (const token of tokens) {
    if (token.kind === 'slash') text += '/';
    else if (token.kind === 'char') text += String.fromCodePoint(token.code);
    else return undefined;
  }
  return text;
}
