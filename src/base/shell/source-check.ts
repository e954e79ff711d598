// Owns: what a command line's bytes must be before it is parsed at all.
// Refuses: to repair: a carriage return or a hidden character is refused, never stripped.
import { refuse } from './analysis.ts';

export const MAX_BYTES = 64 * 1024;
/** The parser is quadratic in unquoted `{` of one word (65,536 of them: 17 s; 1,000: 4 ms). */
const MAX_BRACES = 1000;
/** And in here-documents (16,384 of them: 0.6 s). */
const MAX_HERE_DOCS = 2000;
const NOWHERE = { pos: 0, end: 0 };

export function checkSource(source: string): void {
  const bytes = Buffer.byteLength(source);
  if (bytes > MAX_BYTES)
    refuse('shell.unparsable', `Cannot read the command: it has ${bytes} bytes, over ${MAX_BYTES}`, NOWHERE);
  if (!source.isWellFormed()) at(source, /\p{Cs}/u, 'a lone surrogate, which no program could be given');
  at(source, /\0/, 'a NUL character, which ends the line for bash');
  at(source, /\r/, 'a carriage return, which bash takes as part of a word; end lines with \\n alone');
  at(source, /[\x01-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]/, 'a control character');
  at(source, /[\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/, 'a character that hides or reorders text');
  if (count(source, '<<') > MAX_HERE_DOCS)
    refuse('shell.unparsable', 'Cannot read the command: too many here-documents', NOWHERE);
  for (const stretch of source.matchAll(/\S+/g))
    if (count(stretch[0], '{') > MAX_BRACES)
      refuse('shell.unparsable', `Cannot read the command: over ${MAX_BRACES} braces in one word`, {
        pos: stretch.index,
        end: stretch.index,
      });
}

function at(source: string, pattern: RegExp, what: string): void {
  const pos = source.search(pattern);
  if (pos >= 0)
    refuse('shell.unparsable', `Cannot read the command: it holds ${what}`, { pos, end: pos + 1 });
}

function count(text: string, char: string): number {
  let found = 0;
  for (let i = text.indexOf(char); i >= 0; i = text.indexOf(char, i + 1)) found++;
  return found;
}
