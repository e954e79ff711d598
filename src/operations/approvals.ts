// Owns: the operations of a person who answers for calls, and how a call that waits reads in a terminal.
// Refuses: to change haft.yaml, whose line `--always` only prints; to let what a caller wrote pass for Haft's words: it is behind a
// bar, and no character of it moves the cursor.
import { describeEffect } from '../contract/effect.ts';
import { fail } from '../contract/errors.ts';
import { defineOperation, type Operation } from '../contract/operation.ts';
import { approvalToWire } from '../contract/spelling.ts';
import type { Approval } from '../contract/store.ts';
import { describeAdmit, printable } from '../contract/terminal-text.ts';
import { document, flag, list as listOf, local, word } from './schemas.ts';

const STATUSES: readonly Approval['status'][] = ['pending', 'granted', 'refused', 'consumed', 'expired'];

export const approvalsList = defineOperation<
  { readonly status: Approval['status'] | 'all' },
  readonly Approval[]
>({
  id: 'approvals.list',
  summary: 'List calls that wait for approval',
  description:
    'Shows of each what it would do: its arguments without secrets, the diff of files, of commands the folder, environment and standard input.',
  examples: ['haft approvals list', 'haft approvals list --status all --json'],
  args: {
    status: {
      type: 'string',
      placeholder: 'STATUS',
      default: 'pending',
      enum: [...STATUSES, 'all'],
      description: `${STATUSES.join(', ')} or all (default: pending)`,
    },
  },
  result: document({ approvals: listOf('The calls.') }),
  who: 'person',
  reads: true,
  async run({ status }, { runtime }) {
    if (status !== 'all' && !STATUSES.includes(status))
      throw fail(
        'usage',
        `Cannot list approvals: there is no status "${status}"; take one of ${STATUSES.join(', ')} or all`,
      );
    return (await runtime()).approvals.list(status === 'all' ? undefined : status);
  },
  json: (approvals) => ({ approvals: approvals.map(approvalToWire) }),
  text(approvals, { out, diff, time, args: { status } }) {
    if (approvals.length > 0) diff(approvals.map((one) => describeApproval(one, time)).join('\n'));
    else out(status === 'pending' ? 'Nothing waits for approval.\n' : 'There is no such approval.\n');
  },
});

const APPROVAL = word('its id');
const ONE = document({ approval: { type: 'object', description: 'The approval.' } });
const asDocument = (approval: Approval) => ({ approval: approvalToWire(approval) });

export const approvalsShow = defineOperation<{ readonly approval: string }, Approval>({
  id: 'approvals.show',
  summary: 'Show a call that waits for approval, and what it would do',
  description:
    'Shows the arguments without secrets, the diff of files, of commands the folder, environment and standard input; and who answered.',
  examples: [
    'haft approvals show appr_0123456789abcdefghij',
    'haft approvals show appr_0123456789abcdefghij --json',
  ],
  args: { approval: APPROVAL },
  result: ONE,
  who: 'person',
  lenient: true,
  run: async ({ approval }, { runtime }) => (await runtime()).approvals.show(approval),
  json: asDocument,
  text: (approval, { diff, time }) => diff(describeApproval(approval, time)),
});

interface Decided {
  readonly approval: string;
  readonly always?: boolean;
}

const deciding = (
  decision: 'granted' | 'refused',
  words: Pick<Operation, 'id' | 'summary' | 'examples'> & Partial<Pick<Operation, 'args'>>,
): Operation<Decided, Approval> => ({
  ...words,
  args: { approval: APPROVAL, ...words.args },
  result: ONE,
  who: 'person',
  changes: true,
  lenient: true,
  run: async ({ approval }, { runtime, by }) => (await runtime()).approvals.decide(approval, decision, by),
  json: asDocument,
  text({ tool, id, admit }, { out, args: { always } }) {
    const next = decision === 'granted' ? '; the same call, made again, goes through once' : '';
    out(`${decision} ${tool} (${id})${next}\n`);
    if (always) out(admit ? `${describeAdmit(admit)}\n` : 'no line of haft.yaml can admit it always\n');
  },
});

export const approvalsGrant = deciding('granted', {
  id: 'approvals.grant',
  summary: 'Grant the call, once',
  examples: [
    'haft approvals grant appr_0123456789abcdefghij',
    'haft approvals grant appr_0123456789abcdefghij --always',
  ],
  args: { always: local(flag('also print the haft.yaml line that admits such calls from now on')) },
});

export const approvalsRefuse = deciding('refused', {
  id: 'approvals.refuse',
  summary: 'Refuse the call',
  examples: ['haft approvals refuse appr_0123456789abcdefghij'],
});

/** Ends in a line break. */
export function describeApproval(approval: Approval, at: (ts: number) => string = toIso): string {
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

const toIso = (ts: number): string => new Date(ts).toISOString();

/** What is long or has lines is shown as it is; all else as JSON, so that an empty text can be seen. */
function argument(name: string, value: unknown): string[] {
  if (typeof value === 'string' && (value.includes('\n') || value.length > 100))
    return [`  argument ${oneLine(name)}`, ...barred(value)];
  return [`  argument ${oneLine(name)}: ${oneLine(JSON.stringify(value))}`];
}

const barred = (text: string): string[] =>
  printable(text.endsWith('\n') ? text.slice(0, -1) : text)
    .split('\n')
    // A line that ends in CR LF says so: what is written is what was asked for.
    .map((line) => `  | ${line.replace(/\r$/, '\\u000d')}`);

const oneLine = (text: string): string =>
  printable(text).replaceAll(/[\t\n\r\u2028\u2029]/g, (char) => JSON.stringify(char).slice(1, -1));
