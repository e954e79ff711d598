// Owns: `haft artifacts gc`: lets go of what nothing refers to and nobody used for a while.
// Refuses: inputs and outputs of runs, what undo needs, and what was used within the last hour.
import { shownSize } from '../../../base/shown-size.ts';
import { SHORTEST_LEASE_MS } from '../../../contract/artifacts.ts';
import { fail } from '../../../contract/errors.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import type { Command } from '../command.ts';
import { duration } from '../duration.ts';

const USUAL = '30d';

export const command: Command = {
  summary: 'Remove artifacts and other objects that nothing needs any more',
  usage: '[--unused-for TIME] [--undo-for TIME] [--dry-run]',
  description:
    'Inputs and outputs of runs stay, and so do the pre-images that undo needs. Safe while other processes work.',
  options: {
    'unused-for': {
      type: 'string',
      value: 'TIME',
      help: `only what nobody imported, made or used for so long (default: ${USUAL}; at least 1h)`,
    },
    'undo-for': {
      type: 'string',
      value: 'TIME',
      help: 'give up undo of calls that are older (default: keep it for all)',
    },
    'dry-run': { type: 'boolean', help: 'say what would go, and remove nothing' },
  },
  examples: ['haft artifacts gc --dry-run', 'haft artifacts gc --unused-for 7d --undo-for 12w'],
  positionals: [0, 0],
  async run({ runtime, flags, io, json }) {
    const unusedForMs = duration('unused-for', flags['unused-for'] ?? USUAL);
    if (unusedForMs < SHORTEST_LEASE_MS)
      throw fail(
        'usage',
        'Cannot use --unused-for: it takes at least 1h, so that nothing goes while it is being imported',
      );
    const undo = flags['undo-for'];
    const host = await runtime();
    const report = await (await host.artifacts()).sweep({
      unusedForMs,
      ...(undo === undefined ? {} : { undoForMs: duration('undo-for', undo) }),
      dryRun: flags['dry-run'] === true,
      signal: io.signal,
    });
    const { artifacts, removed, kept } = report;
    if (flags['dry-run'] !== true && removed.objects > 0) {
      const facts = { artifacts: artifacts.length, ...removed };
      const act = { action: 'haft artifacts gc', by: localPerson(), facts };
      await recordManagement(host.workspace, act, host.audit);
    }
    if (json) io.out(`${JSON.stringify({ dry_run: flags['dry-run'] === true, artifacts, removed, kept })}\n`);
    else {
      const verb = flags['dry-run'] ? 'Would remove' : 'Removed';
      const named = `${artifacts.length} artifact${artifacts.length === 1 ? '' : 's'}`;
      io.out(
        `${verb} ${removed.objects} objects (${shownSize(removed.bytes)}), ${named} among them; ${kept.objects} stay (${shownSize(kept.bytes)}).\n`,
      );
    }
    return 0;
  },
};
