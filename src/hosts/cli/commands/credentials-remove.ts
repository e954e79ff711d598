// Owns: `haft credentials remove`.
// Refuses: to say that something was removed when nothing was there.
import { fail } from '../../../contract/errors.ts';
import { withCredentials } from '../../../preset/open-credentials.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import type { Command } from '../command.ts';
import { credentialKey, USER_OPTION, whose } from '../credential-key.ts';

export const command: Command = {
  summary: 'Forget a credential',
  usage: 'PROVIDER',
  options: USER_OPTION,
  examples: ['haft credentials remove github', 'haft credentials remove github --user ada'],
  positionals: [1, 1],
  async run({ positionals, flags, workspace, io, json }) {
    const key = credentialKey(positionals[0]!, flags.user);
    if (!(await withCredentials(workspace, (credentials) => credentials.remove(key)))) {
      const message = `Cannot remove the credential of "${key.provider}" of ${whose(key)}: it is not set`;
      throw fail('credentials.missing', message);
    }
    const facts = { provider: key.provider, owner: whose(key) };
    await recordManagement(workspace, { action: 'haft credentials remove', by: localPerson(), facts });
    io.out(json ? `${JSON.stringify({ removed: key })}\n` : `removed ${key.provider} of ${whose(key)}\n`);
    return 0;
  },
};
