// Owns: `haft audit checkpoint`: the audit as it stands, signed by this host, to be kept elsewhere.
// Refuses: to say that the chain is whole; that is `audit verify`.
import { signAudit } from '../../../preset/prove.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Print a signed checkpoint of the audit',
  usage: '[--key]',
  description:
    'A signed note: how many rows, and the Merkle root over them. Keep it outside of the workspace: "haft audit verify --checkpoint FILE" then shows a cut tail or a rewritten past. The key that signs is derived from the key of this host, which no workspace holds.',
  options: {
    key: {
      type: 'boolean',
      help: 'print the public key instead, for those who check bundles and checkpoints',
    },
  },
  examples: ['haft audit checkpoint > ~/audit.checkpoint', 'haft audit checkpoint --key > host.pub'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, workspace, flags, io, json }) {
    const { checkpoint, key, size } = await signAudit(await runtime(), workspace);
    if (json) io.out(`${JSON.stringify({ size, checkpoint, key })}\n`);
    else io.out(flags.key ? `${key}\n` : checkpoint);
    return 0;
  },
};
