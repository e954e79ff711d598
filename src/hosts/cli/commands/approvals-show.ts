// Owns: `haft approvals show`.
// Refuses: to answer it.
import { approvalToWire } from '../../../contract/spelling.ts';
import type { Command } from '../command.ts';
import { describeApproval } from '../describe-approval.ts';

export const command: Command = {
  summary: 'Show a call that waits for approval, and what it would do',
  usage: 'APPROVAL',
  description:
    'Shows the arguments without secrets, the diff of files, of commands the folder, environment and standard input; and who answered.',
  examples: [
    'haft approvals show appr_0123456789abcdefghij',
    'haft approvals show appr_0123456789abcdefghij --json',
  ],
  positionals: [1, 1],
  lenient: true,
  async run({ runtime, positionals, io, json }) {
    const approval = await (await runtime()).approvals.show(positionals[0]!);
    io.out(json ? `${JSON.stringify({ approval: approvalToWire(approval) })}\n` : describeApproval(approval));
    return 0;
  },
};
