// Owns: how failures, tables and colours look in a terminal and in a pipe.
// Refuses: colour where nobody looks.
import type { ErrorEntry } from '../../contract/errors.ts';

/** The action and the fact, then what to do about it. */
export function describeError(error: ErrorEntry): string {
  const lines = [`haft: ${error.message} [${error.code} ${error.reason}]`];
  const admit = error.details?.admit;
  if (typeof admit === 'string')
    lines.push('  haft.yaml would admit it with:', ...admit.split('\n').map((line) => `    ${line}`));
  return `${lines.join('\n')}\n`;
}

/** Columns padded to the widest cell; plain text, so that a pipe can cut it. */
export function table(rows: readonly (readonly string[])[], header?: readonly string[]): string {
  const all = header ? [header, ...rows] : rows;
  const widths: number[] = [];
  for (const row of all)
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  return all
    .map(
      (row) =>
        `${row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join('  ')}\n`,
    )
    .join('');
}
