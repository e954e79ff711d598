// Owns: any text as one word of a POSIX shell, for the keeper and its slots.
// Refuses: text with a NUL, which no argument can hold; callers have checked that.

const PLAIN = /^[A-Za-z0-9_@%+:,./-]+$/;

/** Unlike the canonical quoting of commands this may hold raw newlines: dash knows no `$'…'`. */
export function shWord(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export const shWords = (words: readonly string[]): string => words.map(shWord).join(' ');
