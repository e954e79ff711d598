// Owns: how a credential is named on the command line, and in what the command line prints.
// Refuses: a provider that no tool could name.
import type { CredentialKey } from '../../contract/credentials.ts';
import { fail } from '../../contract/errors.ts';
import type { CommandOption, Invocation } from './command.ts';

export const USER_OPTION: Readonly<Record<string, CommandOption>> = {
  user: {
    type: 'string',
    value: 'ID',
    help: 'of this user of the workspace: in sessions with an attribution of {"user": ID}',
  },
};

export function credentialKey(provider: string, user: Invocation['flags'][string]): CredentialKey {
  if (!/^[a-z][a-z0-9_-]*$/.test(provider) || provider.length > 64) {
    throw fail(
      'usage',
      `Cannot use "${provider.slice(0, 80)}" as a provider: take lower-case letters, digits, _ and -, such as github`,
    );
  }
  if (user === '') throw fail('usage', 'Cannot use --user: it is empty');
  return { provider, owner: (user as string | undefined) ?? '' };
}

export const whose = ({ owner }: CredentialKey): string => (owner === '' ? 'system' : `user ${owner}`);
