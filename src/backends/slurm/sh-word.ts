// Owns: a value as one word of a POSIX shell.
// Refuses: NUL, which no argument can hold.

export function shWord(value: string): string {
  if (value.includes('\0')) throw new TypeError('A word of a command cannot hold NUL');
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
