// Owns: `haft tools remove`.
// Refuses: packs that haft.yaml names: a person takes those out there.

import { isFrozenRun } from '../../../preset/open-host.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Remove a pack that was added',
  usage: 'PACK',
  description:
    'Its tools are gone at once, also from hosts that run, and from haft.lock. Packs of haft.yaml are taken out there.',
  examples: ['haft tools remove hub'],
  positionals: [1, 1],
  async run({ positionals, workspace, io, json, flags }) {
    const name = positionals[0]!;
    await withWorkspacePacks(workspace, (packs) => packs.remove(name), { frozen: isFrozenRun(flags) });
    io.out(json ? `${JSON.stringify({ removed: name })}\n` : `removed ${name}\n`);
    return 0;
  },
};
