// Owns: `haft credentials list`.
// Refuses: to show, or even to open, a value.
import { toWire } from '../../../contract/spelling.ts';
import { table } from '../../../contract/terminal-text.ts';
import { withCredentials } from '../../../preset/open-credentials.ts';
import type { Command } from '../command.ts';
import { whose } from '../credential-key.ts';

export const command: Command = {
  summary: 'List the credentials, without their values',
  usage: '',
  examples: ['haft credentials list', 'haft credentials list --json'],
  positionals: [0, 0],
  async run({ workspace, io, json }) {
    const listed = await withCredentials(workspace, (credentials) => credentials.list());
    if (json) io.out(`${JSON.stringify({ credentials: listed.map(toWire) })}\n`);
    else if (listed.length === 0) io.out('No credentials are set.\n');
    else {
      const rows = listed.map((one) => [
        one.provider,
        whose(one),
        one.fields.join(', '),
        new Date(one.updatedTs).toISOString(),
      ]);
      io.out(table(rows, ['PROVIDER', 'WHOSE', 'FIELDS', 'SET']));
    }
    return 0;
  },
};
