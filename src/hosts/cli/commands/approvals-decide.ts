// Owns: `haft approvals grant` and `haft approvals refuse`.
// Refuses: to change haft.yaml: `--always` prints the line, and a person puts it there.
import { approvalToWire } from '../../../contract/spelling.ts';
import { describeAdmit } from '../../../contract/terminal-text.ts';
import { localPerson } from '../../../preset/record-management.ts';
import type { Command } from '../command.ts';

export const grant: Command = {
  summary: 'Let the call through, once',
  usage: 'APPROVAL',
  options: {
    always: { type: 'boolean', help: 'also print the haft.yaml line that admits such calls from now on' },
  },
  examples: [
    'haft approvals grant appr_0123456789abcdefghij',
    'haft approvals grant appr_0123456789abcdefghij --always',
  ],
  positionals: [1, 1],
  lenient: true,
  run: (invocation) => decide(invocation, 'granted'),
};

export const refuse: Command = {
  summary: 'Refuse the call',
  usage: 'APPROVAL',
  examples: ['haft approvals refuse appr_0123456789abcdefghij'],
  positionals: [1, 1],
  lenient: true,
  run: (invocation) => decide(invocation, 'refused'),
};

async function decide(
  { runtime, positionals, flags, io, json }: Parameters<Command['run']>[0],
  decision: 'granted' | 'refused',
) {
  const by = localPerson();
  const approval = await (await runtime()).approvals.decide(positionals[0]!, decision, by);
  if (json) {
    io.out(`${JSON.stringify({ approval: approvalToWire(approval) })}\n`);
    return 0;
  }
  io.out(
    `${decision} ${approval.tool} (${approval.id})${decision === 'granted' ? '; the same call, made again, goes through once' : ''}\n`,
  );
  if (flags.always) {
    io.out(
      approval.admit ? `${describeAdmit(approval.admit)}\n` : 'no line of haft.yaml can admit it always\n',
    );
  }
  return 0;
}
