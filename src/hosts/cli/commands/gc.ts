// Owns: `haft gc`: cleaning up the state of a workspace as its policy says.
// Refuses: to remove a row of the audit, or an artifact.
import { shownSize } from '../../../base/shown-size.ts';
import type { CleanUpReport, StateSizes } from '../../../contract/operation-handles.ts';
import type { DefaultRuntime } from '../../../preset/default.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Clean up the state as undo.keep and audit.keep say',
  usage: '[--dry-run]',
  description:
    'Old rows of the audit go into compressed segments in .haft/audit, where they are still listed and verified. What undo keeps of old calls goes, unless a run or an artifact needs it. ' +
    '"haft serve" and "haft mcp" do this by themselves when nobody calls. Safe while other processes work. Artifacts stay; see "haft artifacts gc".',
  options: { 'dry-run': { type: 'boolean', help: 'say what would go, and change nothing' } },
  examples: ['haft gc --dry-run', 'haft gc', 'haft gc --json'],
  positionals: [0, 0],
  async run({ runtime, flags, io, json }) {
    const dryRun = flags['dry-run'] === true;
    const live = await runtime();
    const show = io.tty && !json;
    const report = await live.cleanUp({
      dryRun,
      signal: io.signal,
      onGone: (gone) => record(live, gone),
      ...(show ? { onProgress: (message: string) => io.err(`haft: ${message}\n`) } : {}),
    });
    const sizes = await live.sizes();
    if (json) io.out(`${JSON.stringify({ dry_run: dryRun, ...report, sizes: toWire(sizes) })}\n`);
    else {
      io.out(describe(report, dryRun));
      io.out(`.haft is ${shownSize(sizes.total)}${dryRun ? '' : ' now'}${freePart(sizes)}.\n`);
    }
    return 0;
  },
};

async function record({ workspace, audit }: DefaultRuntime, gone: CleanUpReport): Promise<void> {
  const { archived, undo, objects } = gone;
  const facts = {
    archived_rows: archived.rows,
    undo_calls: undo.calls,
    undo_bytes: undo.bytes,
    objects: objects.objects,
    bytes: objects.bytes,
  };
  const { localPerson, recordManagement } = await import('../../../preset/record-management.ts');
  await recordManagement(workspace, { action: 'haft gc', by: localPerson(), facts }, audit);
}

const toWire = ({ archivedRows, segmentBytes, ...rest }: StateSizes) => ({
  ...rest,
  archived_rows: archivedRows,
  segment_bytes: segmentBytes,
});

function describe({ archived, undo, objects, shrunk }: CleanUpReport, dryRun: boolean): string {
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
