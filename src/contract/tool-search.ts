// Owns: how tools are found by words: what a ranker answers, and what a search over one or several of them is.
// Refuses: to say how anything is ranked; words, embeddings or both may stand behind it.
import type { MaybePromise } from './json.ts';
import type { ToolContract } from './tool.ts';

export interface RankedTool {
  readonly id: string;
  /** Higher is better. Scores of two rankers cannot be compared; their orders can. */
  readonly score: number;
}

/**
 * One way to rank tools. The lexical one is built in; one with embeddings has the same shape, and is put beside it in
 * `createToolSearch`.
 */
export interface ToolRanker {
  readonly name: string;
  /** These are the tools from now on. A contract that it was given before, the very same object, costs nothing. */
  sync(tools: readonly ToolContract[]): MaybePromise<void>;
  /** The best first; equal ones by id. Equal queries over equal tools give equal answers. */
  rank(query: string, limit: number): MaybePromise<readonly RankedTool[]>;
}

export interface ToolSearch {
  sync(tools: readonly ToolContract[]): Promise<void>;
  search(query: string, limit: number): Promise<readonly RankedTool[]>;
}
