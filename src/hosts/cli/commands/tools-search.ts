// Owns: `haft tools search`.
// Refuses: to hide what is disabled: a person may want to enable it.
import type { Command } from '../command.ts';
import { table } from '../output.ts';
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
    const { createToolSearch } = await import('../../../runtime/tool-search/create-tool-search.ts');
    const { createLexicalRanker } = await import('../../../runtime/tool-search/lexical-ranker.ts');
    const listings = new Map((await runtime()).tools().map((one) => [one.contract.id, one]));
    const search = createToolSearch([createLexicalRanker()]);
    await search.sync([...listings.values()].map(({ contract }) => contract));
    const found = (await search.search(positionals.join(' '), limit)).map(({ id, score }) => {
      const { contract, origin, enabled } = listings.get(id)!;
      return { id, title: contract.title, origin, enabled, score: Math.round(score * 1000) / 1000 };
    });
    if (json) io.out(`${JSON.stringify({ tools: found })}\n`);
    else if (found.length === 0) io.out(`No tool matches; there are ${listings.size}. Try other words.\n`);
    else {
      const rows = found.map(({ id, title, enabled }) => [id, enabled ? '' : 'disabled', title]);
      io.out(table(rows, ['TOOL', 'STATE', 'WHAT IT DOES']));
    }
    return 0;
  },
};
