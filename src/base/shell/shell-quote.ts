// Owns: the one way a value is written as a shell word: for bash so that equal commands have equal text, and for any POSIX shell.
// Refuses: to show control characters raw; a canonical command is always a single line.

const PLAIN = /^(?:[A-Za-z0-9_@%+=:,./-](?:[A-Za-z0-9_@%+=:,./^-]|(?<![=:])~)*|\[|\]|\{\})$/;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

export function shellQuote(value: string): string {
  if (PLAIN.test(value)) return value;
  if (UNPRINTABLE.test(value)) return `$'${ansiC(value)}'`;
  return `'${value.replaceAll("'", "'\\''")}'`;
}

/** As shellQuote, for the first word: what the shell would read as an assignment or a keyword is quoted. */
export function quoteCommandWord(value: string): string {
  const word = shellQuote(value);
  return word === value && (value.includes('=') || RESERVED.has(value)) ? `'${value}'` : word;
}

/** Words that bash reads as grammar where a command may start. */
export const RESERVED: ReadonlySet<string> = new Set(
  'if then elif else fi time for in until while do done case esac coproc select function { } [[ ]] !'.split(
    ' ',
  ),
);

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\\': '\\\\', "'": "\\'" };

function ansiC(value: string): string {
  let out = '';
  for (const char of value) {
    const short = SHORT[char];
    if (short !== undefined) out += short;
    else if (UNPRINTABLE.test(char)) out += `\\U${char.codePointAt(0)!.toString(16).padStart(8, '0')}`;
    else out += char;
  }
  return out;
}

const POSIX_PLAIN = /^[A-Za-z0-9_@%+:,./-]+$/;

/** For shells without `$'…'`, such as dash: may hold raw newlines. NUL, which no argument can hold, is the caller's to refuse. */
export function shWord(text: string): string {
  return POSIX_PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export const shWords = (words: readonly string[]): string => words.map(shWord).join(' ');
