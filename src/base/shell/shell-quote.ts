// Owns: values as words of a shell: the one way in which people read and compare commands, and the way that every POSIX shell reads.
// Refuses: control characters raw in what people read: a canonical command is always a single line.

const PLAIN = /^(?:[A-Za-z0-9_@%+=:,./-](?:[A-Za-z0-9_@%+=:,./^-]|(?<![=:])~)*|\[|\]|\{\})$/;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

export function shellQuote(value: string): string {
  if (PLAIN.test(value)) return value;
  if (UNPRINTABLE.test(value)) return `$'${ansiC(value)}'`;
  return `'${value.replaceAll("'", "'\\''")}'`;
}

const POSIX_PLAIN = /^[A-Za-z0-9_@%+:,./-]+$/;

/** For scripts: any shell reads it, in every place of a command. It may hold raw newlines, since dash knows no `$'…'`. */
export function shWord(value: string): string {
  if (value.includes('\0')) throw new TypeError('A word of a command cannot hold NUL');
  return POSIX_PLAIN.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

export const shWords = (values: readonly string[]): string => values.map(shWord).join(' ');

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
