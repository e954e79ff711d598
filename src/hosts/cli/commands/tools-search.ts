// Owns: `haft tools search`.
// Refuses: to hide what is disabled: a person may want to enable it.

import { table } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import { wholeNumber } from '../whole-number.ts';

export const command: Command = {
  summary: 'Find tools by what they do',
  usage: 'WORDS...',
  description: 'Looks at names, descriptions, tags and fields; beginnings of words and small slips are fine.',
  options: { limit: { type: 'string', value: 'N', help: 'the most to show (default: 10)' } },
  examples: ['haft tools search read a file', 'haft tools search "http request" --limit 3 --json'],
  positionals: [1, 32],
  async run({ positionals, flags, runtime, io, json }) {
    const limit = wholeNumber('limit', flags.limit, 10);
    const { createToolFinder } = await import('../../../runtime/tool-search/create-tool-search.ts');
    const host = await runtime();
    await host.installations.settle();
    const tools = host.tools();
    const found = await createToolFinder()(tools, positionals.join(' '), limit);
    if (json) io.out(`${JSON.stringify({ tools: found })}\n`);
    else if (found.length === 0) io.out(`No tool matches; there are ${tools.length}. Try other words.\n`);
    else {
      const rows = found.map(({ id, title, enabled }) => [id, enabled ? '' : 'disabled', title]);
      io.out(table(rows, ['TOOL', 'STATE', 'WHAT IT DOES']));
    }
    return 0;
  },
};
