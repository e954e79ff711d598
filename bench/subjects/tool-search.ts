// Owns: how long it takes to find a tool among ten thousand, against looking through their texts.
// Refuses: to measure the index being made with the search; that has a line of its own.
import assert from 'node:assert/strict';
import type { ToolContract } from '../../src/contract/tool.ts';
import { createLexicalRanker } from '../../src/runtime/tool-search/lexical-ranker.ts';
import { drive, repeat } from '../drive.ts';
import { defineSubject } from '../measure.ts';
import { makeTools } from '../tool-catalogue.ts';

interface State {
  readonly tools: readonly ToolContract[];
  readonly texts: readonly string[];
  readonly rank: (query: string) => Promise<readonly { readonly id: string }[]>;
}

/** Words of one tool, of many tools, half typed, mistyped, and a sentence. */
const QUERIES = [
  'create issue',
  'github merge branch',
  'stripe.archive_invoice',
  'which project does the customer belong to',
  'kuber',
  'shedule a pipelin',
  'subscribe webhook grafana',
  'export',
  'delete a secret in redis',
  'summarize docments',
];

const BUDGET = 'a budget of 5 ms';

export const toolSearch = defineSubject<State>({
  name: 'tool-search',
  about:
    'Finding tools by words among 10,000: the ten best of ten queries in turn (words, a sentence, a beginning, slips), against ' +
    'counting the words of the query in every text, which ranks worse and knows no slips. The budget is a constant, not a contender.',
  async open() {
    const tools = makeTools(10_000);
    const ranker = createLexicalRanker();
    await ranker.sync(tools);
    const rank = async (query: string) => ranker.rank(query, 10);
    const texts = tools.map((tool) => JSON.stringify(tool).toLowerCase());
    for (const query of QUERIES) assert.ok((await rank(query)).length > 0, query);
    assert.equal((await rank('shedule a pipelin'))[0]?.id.endsWith('schedule_pipeline'), true);
    assert.equal((await rank('github merge branch'))[0]?.id, 'github.merge_branch');
    return { tools, texts, rank };
  },
  close: async () => {},
  comparisons: [
    {
      name: '10,000 tools',
      rounds: 9,
      contenders: {
        'haft tool search': ({ rank }, { sliceMs }) =>
          drive((n) => rank(QUERIES[n % QUERIES.length]!), { inFlight: 1, ms: sliceMs, atLeast: 50 }),
        [BUDGET]: async () => ({ p50: 5, p95: 5 }),
        'a look through all texts': ({ texts }, { sliceMs }) =>
          drive(async (n) => lookThrough(texts, QUERIES[n % QUERIES.length]!), {
            inFlight: 1,
            ms: sliceMs,
            atLeast: 10,
          }),
      },
      goals: [
        { figure: 'p50', ratio: '<=', value: 1, of: BUDGET },
        { figure: 'p95', ratio: '<=', value: 1, of: BUDGET },
      ],
      also: [{ figure: 'p50', of: 'a look through all texts' }],
    },
    {
      name: 'making the index',
      rounds: 5,
      contenders: {
        'haft tool search': ({ tools }) =>
          repeat(1, async () => {
            const start = performance.now();
            const ranker = createLexicalRanker();
            await ranker.sync(tools);
            await ranker.rank('x', 1);
            return performance.now() - start;
          }),
        'JSON.stringify of the tools': ({ tools }) =>
          repeat(1, async () => {
            const start = performance.now();
            JSON.stringify(tools);
            return performance.now() - start;
          }),
      },
      goals: [],
      also: [{ figure: 'p50', of: 'JSON.stringify of the tools' }],
    },
  ],
});

function lookThrough(texts: readonly string[], query: string): readonly number[] {
  const words = query.toLowerCase().split(' ');
  const scores = texts.map((text, at) => [at, words.filter((word) => text.includes(word)).length] as const);
  return scores
    .filter(([, score]) => score > 0)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
    .map(([at]) => at);
}
