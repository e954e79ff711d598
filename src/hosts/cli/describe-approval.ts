// Owns: how a call that waits for a person reads in a terminal.
// Refuses: to let what a caller wrote pass for Haft's words: it is behind a bar, and no character of it moves the cursor.
import { describeEffect } from '../../contract/effect.ts';
import type { Approval } from '../../contract/store.ts';
import { printable } from '../../contract/terminal-text.ts';

/** Ends in a line break. */
export function describeApproval(approval: Approval): string {
  const { id, status, tool, effects, session, rule, details, decidedBy, decidedTs } = approval;
  const would = effects.map(describeEffect).join('; ');
  const lines = [
    `${id}  ${status}  ${oneLine(tool)}${would === '' ? '' : `  would ${oneLine(would)}`}`,
    `  asked    ${at(approval.createdTs)} by session ${oneLine(session)}, because of ${oneLine(rule)}`,
    `  expires  ${at(approval.expiresTs)}`,
    ...(decidedBy === null || decidedTs === null
      ? []
      : [`  decided  ${at(decidedTs)} by ${oneLine(decidedBy)}`]),
  ];
  if (!details) return [...lines, '  What it held is no longer kept.', ''].join('\n');
  for (const [name, value] of Object.entries(details.args)) lines.push(...argument(name, value));
  const { changes = [], diff, notes } = details;
  if (diff === undefined && changes.length > 0) {
    lines.push('  would change');
    lines.push(...changes.map((change) => `  | ${oneLine(JSON.stringify(change))}`));
  }
  if (diff !== undefined) lines.push('  diff', ...barred(diff));
  for (const note of notes) lines.push(`  note     ${oneLine(note)}`);
  return [...lines, ''].join('\n');
}

const at = (ts: number) => new Date(ts).toISOString();

/** What is long or has lines is shown as it is; all else as JSON, so that an empty text can be seen. */
function argument(name: string, value: unknown): string[] {
  if (typeof value === 'string' && (value.includes('\n') || value.length > 100))
    return [`  argument ${oneLine(name)}`, ...barred(value)];
  return [`  argument ${oneLine(name)}: ${oneLine(JSON.stringify(value))}`];
}

const barred = (text: string): string[] =>
  printable(text.endsWith('\n') ? text.slice(0, -1) : text)
    .split(/\r?\n/)
    .map((line) => `  | ${line}`);

const oneLine = (text: string): string =>
  printable(text).replaceAll(/[\t\n\r\u2028\u2029]/g, (char) => JSON.stringify(char).slice(1, -1));
