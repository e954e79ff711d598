// Owns: the operations that keep a workspace in order: cleaning up its state, checking that all is here, taking a call back.
// Refuses: to remove a row of the audit or an artifact, and to repair anything: each failed check says what to type.
import { shownSize } from '../base/shown-size.ts';
import { type CallResponse, toToolResponse } from '../contract/envelope.ts';
import { ERRORS } from '../contract/errors.ts';
import { defineOperation } from '../contract/operation.ts';
import type { CleanUpReport, Finding, StateSizes } from '../contract/operation-handles.ts';
import { toWire } from '../contract/spelling.ts';
import { describeError } from '../contract/terminal-text.ts';
import { COUNT, document, flag, list as listOf, word, YES } from './schemas.ts';

interface Cleaned {
  readonly dryRun: boolean;
  readonly report: CleanUpReport;
  readonly sizes: StateSizes;
}

export const gc = defineOperation<{ readonly dry_run?: boolean }, Cleaned>({
  id: 'gc',
  summary: 'Clean up the state as undo.keep and audit.keep say',
  usage: '[--dry-run]',
  description:
    'Old rows of the audit go into compressed segments in .haft/audit, where they are still listed and verified. What undo keeps of old calls goes, unless a run or an artifact needs it. ' +
    '"haft serve" and "haft mcp" do this by themselves when nobody calls. Safe while other processes work. Artifacts stay; see "haft artifacts gc".',
  examples: ['haft gc --dry-run', 'haft gc', 'haft gc --json'],
  args: { dry_run: flag('say what would go, and change nothing') },
  result: document({
    dry_run: YES,
    archived: document({ rows: COUNT }),
    undo: document({ calls: COUNT, bytes: COUNT }),
    objects: document({ objects: COUNT, bytes: COUNT }),
    shrunk: { type: ['integer', 'null'] },
    sizes: { type: 'object', description: 'how large what is in .haft' },
  }),
  who: 'person',
  changes: true,
  async run({ dry_run: dryRun = false }, { runtime, signal, progress, record }) {
    const live = await runtime();
    const report = await live.cleanUp({
      dryRun,
      signal,
      onGone: ({ archived, undo, objects }) =>
        record('haft gc', {
          archived_rows: archived.rows,
          undo_calls: undo.calls,
          undo_bytes: undo.bytes,
          objects: objects.objects,
          bytes: objects.bytes,
        }),
      onProgress: (message) => progress({ message }),
    });
    return { dryRun, report, sizes: await live.sizes() };
  },
  json: ({ dryRun, report, sizes }) => ({ dry_run: dryRun, ...report, sizes: sizesToWire(sizes) }),
  text({ dryRun, report, sizes }, { out }) {
    out(describeGone(report, dryRun));
    out(`.haft is ${shownSize(sizes.total)}${dryRun ? '' : ' now'}${freePart(sizes)}.\n`);
  },
});

const sizesToWire = ({ archivedRows, segmentBytes, ...rest }: StateSizes) => ({
  ...rest,
  ...toWire({ archivedRows, segmentBytes }),
});

function describeGone({ archived, undo, objects, shrunk }: CleanUpReport, dryRun: boolean): string {
  const would = dryRun ? 'Would ' : '';
  const verb = (word: string, past: string) => (dryRun ? `${would}${word}` : past);
  return [
    `${verb('archive', 'Archived')} ${count(archived.rows, 'row')} of the audit.`,
    `${verb('give up', 'Gave up')} undo of ${count(undo.calls, 'call')} (${shownSize(undo.bytes)}).`,
    `${verb('remove', 'Removed')} ${count(objects.objects, 'object')} (${shownSize(objects.bytes)}).`,
    ...(shrunk !== null && shrunk > 0 ? [`The database is ${shownSize(shrunk)} smaller.`] : []),
    '',
  ].join('\n');
}

const freePart = ({ free }: StateSizes): string =>
  free > 0 ? `; ${shownSize(free)} of it is free space in the database, for what comes next` : '';

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

export const doctor = defineOperation<object, readonly Finding[]>({
  id: 'doctor',
  summary: 'Check this machine and workspace, by trying',
  examples: ['haft doctor', 'haft doctor --json'],
  args: {},
  result: document({ ok: YES, findings: listOf('Every check: its name, state and evidence.') }),
  who: 'person',
  run: (_, { diagnose }) => diagnose(),
  json: (findings) => ({ ok: failedOf(findings) === 0, findings }),
  text(findings, { out }) {
    const said = new Set<string>();
    for (const finding of findings) out(describeFinding(finding, said));
    const failed = failedOf(findings);
    out(
      failed === 0
        ? 'Everything that Haft needs is here.\n'
        : `${failed} of ${findings.length} checks failed.\n`,
    );
  },
  exit: (findings) => (failedOf(findings) === 0 ? 0 : 1),
});

const failedOf = (findings: readonly Finding[]): number =>
  findings.filter(({ state }) => state === 'failed').length;

const MARKS = { ok: 'ok    ', weaker: 'weaker', absent: 'absent', failed: 'FAILED' } as const;

/** Details below their check, and each of them once: a bad policy is why the state cannot be opened, too. */
function describeFinding({ state, name, evidence, fix }: Finding, said: Set<string>): string {
  const [fact = '', ...details] = evidence
    .replace(/ \[[a-z._]+\]$/, '')
    .split('\n')
    .map((line) => line.trim());
  const fresh = details.filter((line) => !said.has(line));
  for (const line of details) said.add(line);
  const below = [...fresh, ...(fix && state !== 'ok' ? [fix] : [])].map((line) => `         ${line}\n`);
  return `${MARKS[state]}  ${name}: ${fact}\n${below.join('')}`;
}

interface UndoArgs {
  readonly call: string;
  readonly dry_run?: boolean;
}

/** The call of the tool `undo`: policy and audit see it like any other. */
export const undo = defineOperation<UndoArgs, CallResponse>({
  id: 'undo',
  summary: 'Take back what a call changed',
  description:
    'Restores exactly what that call changed, and refuses, with the difference, when something changed since. ' +
    'CALL is the call_id of an answer; haft audit list shows them.',
  examples: ['haft undo call_0123456789abcdefghij', 'haft undo call_0123456789abcdefghij --dry-run'],
  args: {
    call: word('the call_id of an answer'),
    dry_run: flag('show the difference and change nothing'),
  },
  result: document({ ok: YES, data: {}, errors: listOf('Why it was refused.') }),
  who: 'anyone',
  changes: true,
  lenient: true,
  async run({ call, dry_run }, { runtime, signal }) {
    const args = { call_id: call, ...(dry_run ? { dry_run: true } : {}) };
    return (await runtime()).call({ tool: 'undo', args }, { signal });
  },
  json: toToolResponse,
  text(response, { out, err, diff: showDiff, args: { dry_run: dryRun } }) {
    const [error] = response.errors;
    if (error) {
      err(describeError(error));
      const { conflicts = [] } = (error.details ?? {}) as { conflicts?: readonly { diff?: string }[] };
      for (const { diff } of conflicts) if (diff) err(diff);
      return;
    }
    const { restored = [], removed = [], not_restored = [], diff } = response.data as UndoAnswer;
    if (diff) showDiff(diff.endsWith('\n') ? diff : `${diff}\n`);
    for (const path of restored) out(`${dryRun ? 'would restore' : 'restored'} ${path}\n`);
    for (const path of removed) out(`${dryRun ? 'would remove' : 'removed'} ${path}\n`);
    for (const { path, what, why } of not_restored)
      err(`haft: not restored: ${what.replaceAll('_', ' ')} of ${path}: ${why}\n`);
    if (!dryRun) out(`undone; "haft undo ${response.callId}" takes this back\n`);
  },
  exit: ({ errors: [error] }) => (error ? ERRORS[error.reason].exit : 0),
});

interface UndoAnswer {
  readonly restored?: readonly string[];
  readonly removed?: readonly string[];
  readonly not_restored?: readonly { readonly path: string; readonly what: string; readonly why: string }[];
  readonly diff?: string;
}
