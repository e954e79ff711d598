// Owns: `haft audit head`: count and hash, to be kept elsewhere.
// Refuses: to say that the chain is whole; that is `audit verify`.
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Print the number of audit rows and the hash of the last',
  usage: '',
  description:
    'Keep it outside of the workspace: "haft audit verify --head COUNT:HASH" then shows a cut tail or a rewritten chain.',
  examples: ['haft audit head', 'haft audit head > ~/audit-head.txt'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, io, json }) {
    const head = await (await runtime()).audit.head();
    io.out(json ? `${JSON.stringify(head)}\n` : `${head.count}:${head.hash}\n`);
    return 0;
  },
};
