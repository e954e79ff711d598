// Owns: how failures, tables and colours look in a terminal and in a pipe.
// Refuses: colour where nobody looks.
import type { ErrorEntry } from './errors.ts';

/** The action and the fact, then what the details say about it. `explainError` adds what to do. */
export function describeError(error: ErrorEntry): string {
  const lines = [`haft: ${error.message} [${error.code} ${error.reason}]`];
  const { hint, admit } = error.details ?? {};
  if (typeof hint === 'string' && hint !== '') lines.push(`  hint: ${printable(hint)}`);
  if (typeof admit === 'string') lines.push(describeAdmit(admit, '  '));
  return `${lines.join('\n')}\n`;
}

/** The lines that would allow a call. A rule is decided by the strictest entry, so one that is there must change. */
export function describeAdmit(admit: string, indent = ''): string {
  const lines = admit.trimEnd().split('\n');
  return [
    `${indent}To allow this, add to haft.yaml, or change the entry that is there:`,
    ...lines.map((line) => `${indent}  ${line}`),
  ].join('\n');
}

/** Columns padded to the widest cell; plain text, so that a pipe can cut it. A row is one line, whatever is in it. */
export function table(rows: readonly (readonly string[])[], header?: readonly string[]): string {
  const all = (header ? [header, ...rows] : rows).map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of all)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** For names: one line, whatever is in it. */
export const oneLine = (cell: string): string =>
  printable(cell).replaceAll(/[\t\n\r\u2028\u2029]/g, asEscape);

/**
 * Text that cannot move a cursor, change colours or turn the direction of reading: such characters are written as
 * JSON writes them, so that JSON text keeps its meaning. Line feeds, tabs and CRLF stay.
 */
export function printable(text: string): string {
  return CONTROL.test(text) ? text.replaceAll(CONTROLS, asEscape) : text;
}

const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)/;
const CONTROLS = new RegExp(CONTROL, 'g');

const asEscape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
