// Owns: a search over one ranker or several: what each puts in front counts, however it came to that.
// Refuses: to compare scores of different rankers; only their orders are.
import type { RankedTool, ToolRanker, ToolSearch } from '../../contract/tool-search.ts';

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
