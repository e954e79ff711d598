// Owns: a search over one ranker or several, and finding tools by words for a person, also those that are disabled.
// Refuses: to compare scores of different rankers (only their orders are), and to index anew what it knows.
import type { FoundTool } from '../../contract/operation-handles.ts';
import type { ToolListing } from '../../contract/runtime.ts';
import type { RankedTool, ToolRanker, ToolSearch } from '../../contract/tool-search.ts';
import { createLexicalRanker } from './lexical-ranker.ts';

/** How far down a place still counts: reciprocal rank fusion, with the constant of its paper. */
const PLACES = 60;

export function createToolSearch(rankers: readonly [ToolRanker, ...ToolRanker[]]): ToolSearch {
  const [first, ...others] = rankers;
  return {
    async sync(tools) {
      await Promise.all(rankers.map((ranker) => ranker.sync(tools)));
    },
    async search(query, limit) {
      if (others.length === 0) return first.rank(query, limit);
      const orders = await Promise.all(rankers.map((ranker) => ranker.rank(query, Math.max(limit, PLACES))));
      const scores = new Map<string, number>();
      for (const order of orders) {
        for (const [place, { id }] of order.entries())
          scores.set(id, (scores.get(id) ?? 0) + 1 / (PLACES + place + 1));
      }
      const all: RankedTool[] = [...scores].map(([id, score]) => ({ id, score }));
      return all.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, limit);
    },
  };
}

export type FindTools = (
  among: readonly ToolListing[],
  words: string,
  limit: number,
) => Promise<readonly FoundTool[]>;

export function createToolFinder(): FindTools {
  const search = createToolSearch([createLexicalRanker()]);
  return async (among, words, limit) => {
    const listings = new Map(among.map((one) => [one.contract.id, one]));
    await search.sync(among.map(({ contract }) => contract));
    return (await search.search(words, limit)).map(({ id, score }) => {
      const { contract, origin, enabled } = listings.get(id)!;
      return { id, title: contract.title, origin, enabled, score: Math.round(score * 1000) / 1000 };
    });
  };
}
