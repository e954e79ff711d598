// Owns: `haft policy diff`: the policy that was trusted beside the one that is there, key by key.
// Refuses: to adopt it.
import { ERRORS } from '../../../contract/errors.ts';
import { describeChange } from '../../../policy/compare-policies.ts';
import { diffPolicy } from '../../../preset/trust/trust-question.ts';
import type { Command } from '../command.ts';

export const command: Command = {
  summary: 'Compare haft.yaml with what was trusted',
  usage: '',
  description:
    'Marks what grants more than the policy that was trusted on this machine; where none was, compares with the defaults. ' +
    'Fails where a command would not use the policy as it is.',
  examples: ['haft policy diff', 'haft policy diff --json'],
  positionals: [0, 0],
  async run({ workspace, io, json }) {
    const { trusted, known, sha256, changes, lockChanged } = await diffPolicy(workspace);
    if (json) io.out(`${JSON.stringify({ trusted, known, sha256, changes, lock_changed: lockChanged })}\n`);
    else {
      if (!known) io.out('Compared with the defaults: nothing was trusted here.\n');
      for (const change of changes) io.out(`${describeChange(change)}\n`);
      if (lockChanged) io.out('~ haft.lock is not the one that was trusted\n');
      if (changes.length === 0 && !lockChanged) io.out('No difference.\n');
      io.err(trusted ? 'haft: the policy is trusted\n' : 'haft: the policy is not trusted; see haft trust\n');
    }
    return trusted ? 0 : ERRORS['policy.untrusted'].exit;
  },
};
