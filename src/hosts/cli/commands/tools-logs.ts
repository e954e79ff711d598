// Owns: `haft tools logs`: the last lines that a server wrote to its standard error.
// Refuses: to start it, and to show more than was kept.
import { readPackLog } from '../../../loader/pack-log.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { Command } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'Show what a server wrote to its standard error',
  usage: 'PACK [--lines N]',
  description:
    'The last lines, without secrets, of all hosts of this workspace: when each was kept, and when the server was started and ended (--). ' +
    'About 256 KiB are kept for each server, in .haft/logs.',
  options: { lines: { type: 'string', value: 'N', help: 'the most to show (default: 100)' } },
  examples: ['haft tools logs hub', 'haft tools logs hub --lines 20 --json'],
  positionals: [1, 1],
  async run({ positionals, flags, workspace, io, json }) {
    const most = wholeNumber('lines', flags.lines, 100);
    const { name } = await withWorkspacePacks(workspace, (packs) => packs.show(positionals[0]!));
    const lines = readPackLog(`${workspace}/.haft`, name, most);
    if (json) io.out(`${JSON.stringify({ pack: name, lines })}\n`);
    else if (lines.length === 0) io.err(`${name} has written nothing yet.\n`);
    else io.out(`${lines.join('\n')}\n`);
    return 0;
  },
};
