// Owns: the operations that keep a workspace in order: cleaning up its state, checking that all is here.
// Refuses: to remove a row of the audit or an artifact, and to repair anything: each failed check says what to type.
import { shownSize } from '../base/shown-size.ts';
import { defineOperation } from '../contract/operation.ts';
import type { CleanUpReport, Finding, StateSizes } from '../contract/operation-handles.ts';
import { toWire } from '../contract/spelling.ts';
import { COUNT, document, flag, list as listOf, YES } from './schemas.ts';

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
  looks: ({ dry_run }) => dry_run === true,
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
