// Owns: find_tool, describe_tool and call_tool over MCP: what they answer about the tools that a client was not listed.
// Refuses: to make calls; `call_tool` answers which call it stands for, and the connection makes that one.
import type { CallRequest } from '../../contract/envelope.ts';
import { toErrorEntry } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Runtime, ToolListing } from '../../contract/runtime.ts';
import { createToolSearch } from '../../runtime/tool-search/create-tool-search.ts';
import { createLexicalRanker } from '../../runtime/tool-search/lexical-ranker.ts';
import { SEARCHABLE_TOOLS } from '../../runtime/tool-search/searchable.ts';
import type { Pieces } from './call-result.ts';
import { errorText } from './error-text.ts';

/** `name` is one of the three. `extra` is the tail of the result, as `callResult` takes it. */
export type UseFinder = (name: string, args: JsonObject, runtime: Runtime, extra: string) => Promise<Used>;

/** A whole result, or the call to make in place of this one. */
export type Used = { readonly result: Pieces } | { readonly call: CallRequest };

export function createFinders(): UseFinder {
  const search = createToolSearch([createLexicalRanker()]);
  const byName = new Map(SEARCHABLE_TOOLS.map((tool) => [tool.name, tool]));
  const listings = createListings();
  return async (name, args, runtime, extra) => {
    const answer = (text: string, isError: boolean): Used => ({
      result: [`{"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":${isError}${extra}}`],
    });
    try {
      const explainMissing = (id: string) => runtime.installations.explainMissing(id);
      const site = { tools: () => listings(runtime), search, explainMissing };
      const answered = await byName.get(name)!.run(args, site);
      return 'call' in answered ? answered : answer(answered.text, false);
    } catch (thrown) {
      return answer(errorText(toErrorEntry(thrown)), true);
    }
  };
}

/** The tools of a runtime, asked for again when they or the policy changed: policy decides which of them are enabled. */
function createListings(): (runtime: Runtime) => readonly ToolListing[] {
  let known: readonly ToolListing[] | undefined;
  let by: unknown;
  let followed: Runtime | undefined;
  return (runtime) => {
    if (followed !== runtime) {
      followed = runtime;
      known = undefined;
      runtime.subscribe(({ event }) => {
        if (event === 'ToolsChanged') known = undefined;
      });
    }
    if (by !== runtime.policy.current) known = undefined;
    by = runtime.policy.current;
    known ??= runtime.tools();
    return known;
  };
}
