// Owns: `haft credentials check`: can each credential still be opened, with this key and unchanged?
// Refuses: to show a value, and to repair one.
import type { CredentialFinding } from '../../../contract/credentials.ts';
import { ERRORS } from '../../../contract/errors.ts';
import { credentialNeeds, type DeclaredNeed } from '../../../preset/credential-needs.ts';
import { withCredentials } from '../../../preset/open-credentials.ts';
import type { Command } from '../command.ts';
import { whose } from '../credential-key.ts';

export const command: Command = {
  summary: 'Check that every credential can be opened, fits, and was not changed',
  usage: '',
  description: 'Also names those that tools need and nobody has set for the system; then it fails, too.',
  examples: ['haft credentials check', 'haft credentials check --json'],
  positionals: [0, 0],
  async run({ workspace, io, json }) {
    const needs = await credentialNeeds(workspace);
    const [findings, missing] = await withCredentials(workspace, async (credentials) => [
      await credentials.check(needs),
      await credentials.missing(
        needs.filter(({ scope }) => scope !== 'user'),
        '',
      ),
    ]);
    const bad = findings.find((one) => !one.ok);
    const wanted = missing.map((need) => ({ provider: need.provider, by: (need as DeclaredNeed).by }));
    if (json)
      io.out(
        `${JSON.stringify({ ok: !bad && wanted.length === 0, credentials: findings, missing: wanted })}\n`,
      );
    else {
      if (findings.length + wanted.length === 0) io.out('No credentials are set.\n');
      for (const one of findings) io.out(describe(one));
      for (const { provider, by } of wanted) io.out(`not set  ${provider}, which ${by} needs\n`);
    }
    if (bad?.reason) return ERRORS[bad.reason].exit;
    return wanted.length > 0 ? ERRORS['credentials.missing'].exit : 0;
  },
};

const describe = (one: CredentialFinding): string =>
  `${one.ok ? 'ok    ' : 'FAILED'}   ${one.provider} of ${whose(one)}${one.ok ? '' : `: ${one.message}`}\n`;
