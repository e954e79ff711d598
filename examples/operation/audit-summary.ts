// Owns: `audit.summary`: how many of the newest calls ended how.
// Refuses: to look at more than was asked for.
import { defineOperation } from '../../src/contract/operation.ts';

type Summary = { readonly [outcome: string]: number };

export const auditSummary = defineOperation<{ readonly last: number }, Summary>({
  id: 'audit.summary',
  summary: 'Count the newest audit rows by their outcome',
  examples: ['haft audit summary', 'haft audit summary --last 1000 --json'],
  args: {
    last: {
      type: 'integer',
      minimum: 1,
      default: 100,
      placeholder: 'N',
      description: 'how many rows (default: 100)',
    },
  },
  result: { type: 'object', additionalProperties: { type: 'integer' } },
  who: 'person',
  reads: true,
  async run({ last }, { runtime }) {
    const rows = await (await runtime()).audit.rows({ last });
    const groups = Map.groupBy(rows, ({ outcome }) => outcome);
    return Object.fromEntries([...groups].map(([outcome, some]) => [outcome, some.length]));
  },
  text(summary, { out }) {
    for (const [outcome, count] of Object.entries(summary)) out(`${outcome}  ${count}\n`);
  },
});
