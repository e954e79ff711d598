// Owns: `haft policy suggest`: haft.yaml lines that would have admitted the calls that were denied.
// Refuses: to write them: a person decides which.

import { createPolicyEngine } from '../../../runtime/policy/create-policy-engine.ts';
import { suggestPolicy } from '../../../runtime/policy/suggest.ts';
import type { Command } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'Propose haft.yaml lines from calls that were denied',
  usage: '',
  options: {
    last: { type: 'string', value: 'N', help: 'look at this many of the newest audit rows (default: 1000)' },
  },
  examples: ['haft policy suggest', 'haft policy suggest --last 50 --json'],
  positionals: [0, 0],
  lenient: true,
  async run({ runtime, io, json, flags }) {
    const { audit, policy } = await runtime();
    const rows = await audit.rows({ last: wholeNumber('last', flags.last, 1000) });
    const found = await suggestPolicy(rows, createPolicyEngine({ loaded: policy.current.loaded }));
    if (json) io.out(`${JSON.stringify(found)}\n`);
    else if (found.suggestions.length === 0)
      io.out('No denied call could be admitted by a line of haft.yaml.\n');
    else {
      for (const { admit, calls, tools } of found.suggestions) {
        io.out(`# ${calls} call${calls === 1 ? '' : 's'} of ${tools.join(', ')}\n${admit.trimEnd()}\n\n`);
      }
    }
    return 0;
  },
};
