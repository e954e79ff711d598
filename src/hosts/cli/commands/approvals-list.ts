// Owns: `haft approvals list`.
// Refuses: to answer them.
import { fail } from '../../../contract/errors.ts';
import { approvalToWire } from '../../../contract/spelling.ts';
import type { Approval } from '../../../contract/store.ts';
import type { Command } from '../command.ts';
import { describeApproval } from '../describe-approval.ts';

const STATUSES: readonly Approval['status'][] = ['pending', 'granted', 'refused', 'consumed', 'expired'];

export const command: Command = {
  summary: 'List calls that wait for approval',
  usage: '',
  description:
    'Shows of each what it would do: its arguments without secrets, the diff of files, of commands the folder, environment and standard input.',
  options: {
    status: { type: 'string', value: 'STATUS', help: `${STATUSES.join(', ')} or all (default: pending)` },
  },
  examples: ['haft approvals list', 'haft approvals list --status all --json'],
  positionals: [0, 0],
  reads: true,
  async run({ runtime, io, json, flags }) {
    const status = (flags.status as string | undefined) ?? 'pending';
    if (status !== 'all' && !STATUSES.includes(status as Approval['status'])) {
      throw fail(
        'usage',
        `Cannot list approvals: there is no status "${status}"; take one of ${STATUSES.join(', ')} or all`,
      );
    }
    const approvals = await (await runtime()).approvals.list(
      status === 'all' ? undefined : (status as Approval['status']),
    );
    if (json) io.out(`${JSON.stringify({ approvals: approvals.map(approvalToWire) })}\n`);
    else if (approvals.length === 0)
      io.out(status === 'pending' ? 'Nothing waits for approval.\n' : 'There is no such approval.\n');
    else io.out(approvals.map(describeApproval).join('\n'));
    return 0;
  },
};
