// Owns: `haft credentials check`: can each credential still be opened, with this key and unchanged?
// Refuses: to show a value, and to repair one.
import { ERRORS } from '../../../contract/errors.ts';
import { withCredentials } from '../../../preset/open-credentials.ts';
import type { Command } from '../command.ts';
import { whose } from '../credential-key.ts';

export const command: Command = {
  summary: 'Check that every credential can be opened and was not changed',
  usage: '',
  examples: ['haft credentials check', 'haft credentials check --json'],
  positionals: [0, 0],
  async run({ workspace, io, json }) {
    const findings = await withCredentials(workspace, (credentials) => credentials.check());
    const bad = findings.find((one) => !one.ok);
    if (json) io.out(`${JSON.stringify({ ok: !bad, credentials: findings })}\n`);
    else if (findings.length === 0) io.out('No credentials are set.\n');
    else {
      for (const one of findings)
        io.out(
          `${one.ok ? 'ok    ' : 'FAILED'}  ${one.provider} of ${whose(one)}${one.ok ? '' : `: ${one.message}`}\n`,
        );
    }
    return bad?.reason ? ERRORS[bad.reason].exit : 0;
  },
};
