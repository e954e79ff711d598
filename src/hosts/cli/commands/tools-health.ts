// Owns: `haft tools health`: what one look at every pack found.
// Refuses: to look; see preset/packs/look-at-packs.ts.
import { ERRORS } from '../../../contract/errors.ts';
import { toWire } from '../../../contract/spelling.ts';
import { table } from '../../../contract/terminal-text.ts';
import { tellUnnamedPacks } from '../../../preset/adopt-policy.ts';
import { lookAtPacks } from '../../../preset/packs/look-at-packs.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Look whether the packs can be reached',
  usage: '[PACK | TOOL]...',
  description: 'Starts or reaches each of them. Exits with 70 when one is unhealthy.',
  examples: ['haft tools health', 'haft tools health hub --json'],
  positionals: [0, 64],
  async run({ runtime, workspace, io, json, positionals }) {
    const found = await lookAtPacks(await runtime(), positionals, io.signal);
    const sick = found.some(([, { status }]) => status === 'unhealthy');
    if (json) {
      const health = found.map(([name, report]) => ({ name, ...toWire(report) }));
      io.out(`${JSON.stringify({ ok: !sick, health })}\n`);
    } else if (found.length === 0) io.out('No packs are installed.\n');
    else
      io.out(
        table(
          found.map(([name, { status, message = '' }]) => [name, status, message]),
          ['PACK OR TOOL', 'HEALTH', ''],
        ),
      );
    if (!json) io.err(await tellUnnamedPacks(workspace));
    return sick ? ERRORS['tool.unhealthy'].exit : 0;
  },
};
