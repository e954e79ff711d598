// Owns: finding tools by words for a person: also those that are disabled.
// Refuses: to make its index anew for tools that it knows.
import type { ToolListing } from '../../contract/runtime.ts';
import { createToolSearch } from './create-tool-search.ts';
import { createLexicalRanker } from './lexical-ranker.ts';

export interface FoundTool {
  readonly id: string;
  readonly title: string;
  readonly origin: string;
  readonly enabled: boolean;
  readonly score: number;
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
