// Owns: the second reading of text that the parser calls literal, by rules written down here.
// Refuses: to take the parser's word: where the two readings differ the line is not understood.

// In each a `$` is let through only where it starts no expansion.
const BARE = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\'"`-])|[^\s;|&<>()$`"'\\])*$/;
const QUOTED = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\-])|[^"$`\\])*$/;
const LOOSE = /^(?:\\[\s\S]|\$(?![A-Za-z0-9_({@*#?$![\\-])|[^$`\\])*$/;

/** The value of unquoted text without expansions, or undefined where it is more than that. */
export function bareValue(text: string): string | undefined {
  return BARE.test(text)
    ? text.replace(/\\([\s\S])/g, (_, char: string) => (char === '\n' ? '' : char))
    : undefined;
}

/** The value of text between double quotes without expansions, or undefined where it is more than that. */
export function quotedValue(text: string): string | undefined {
  if (!QUOTED.test(text)) return undefined;
  return text.replace(/\\([$`"\\\n])/g, (_, char: string) => (char === '\n' ? '' : char));
}

/** The value of text between single quotes, quotes included in `text`. */
export function singleQuotedValue(text: string): string | undefined {
  return /^'[^']*'$/.test(text) ? text.slice(1, -1) : undefined;
}

/** The value of `$'…'` where only the well-known escapes are used. */
export function ansiCValue(text: string): string | undefined {
  if (!/^\$'(?:\\[ntr\\'"]|[^'\\])*'$/.test(text)) return undefined;
  return text.slice(2, -1).replace(/\\(.)/g, (_, char: string) => ESCAPES[char] ?? char);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** True when text of a pattern, an operand or a here-document starts no expansion. */
export function startsNothing(text: string): boolean {
  return LOOSE.test(text);
}

export type Widening = 'none' | 'files' | 'tilde';

/** What bash makes of the unescaped special characters in bare text: file names, a home folder, or nothing. */
export function widening(text: string, startsWord: boolean): Widening {
  const bare = text.replace(/\\[\s\S]/g, '');
  if ((startsWord && text.startsWith('~')) || /[=:]~/.test(bare)) return 'tilde';
  if (/[*?]/.test(bare) || between(bare, '[', ']') !== undefined) return 'files';
  return /,|\.\./.test(between(bare, '{', '}') ?? '') ? 'files' : 'none';
}

/** What lies between the first opening and the last closing bracket. By index: a pattern would backtrack. */
function between(text: string, open: string, close: string): string | undefined {
  const [start, end] = [text.indexOf(open), text.lastIndexOf(close)];
  return start >= 0 && end > start ? text.slice(start + 1, end) : undefined;
}
