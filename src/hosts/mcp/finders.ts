// Owns: the searchable mode over MCP: a list of three tools instead of all, and what their calls answer.
// Refuses: to make calls; `call_tool` answers which call it stands for, and the connection makes that one.
import type { CallRequest } from '../../contract/envelope.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Runtime, ToolListing } from '../../contract/runtime.ts';
import { createToolSearch } from '../../runtime/tool-search/create-tool-search.ts';
import { createLexicalRanker } from '../../runtime/tool-search/lexical-ranker.ts';
import { SEARCHABLE_TOOLS, type SearchableTool } from '../../runtime/tool-search/searchable.ts';
import type { Pieces } from './mapping.ts';

export interface SearchableMode {
  /** What `tools/list` answers, as JSON text. */
  readonly catalogue: string;
  /** For the instructions of the server. */
  readonly instructions: string;
  /** Undefined for names that are none of the three. `extra` is the tail of the result, as `callResult` takes it. */
  use(name: string, args: JsonObject, runtime: Runtime, extra: string): Promise<Used> | undefined;
}

/** A whole result, or the call to make in place of this one. */
export type Used = { readonly result: Pieces } | { readonly call: CallRequest };

export function createSearchableMode(): SearchableMode {
  const search = createToolSearch([createLexicalRanker()]);
  const byName = new Map(SEARCHABLE_TOOLS.map((tool) => [tool.name, tool]));
  const listings = createListings();
  return {
    catalogue: JSON.stringify(SEARCHABLE_TOOLS.map(toMcpTool)),
    instructions:
      'Find tools with find_tool, see their arguments with describe_tool, call them with call_tool.',
    use(name, args, runtime, extra) {
      const tool = byName.get(name);
      return tool && answer(tool, args, runtime, extra);
    },
  };

  async function answer(
    tool: SearchableTool,
    args: JsonObject,
    runtime: Runtime,
    extra: string,
  ): Promise<Used> {
    try {
      const explainMissing = (id: string) => runtime.installations.explainMissing(id);
      const answered = await tool.run(args, { tools: () => listings(runtime), search, explainMissing });
      if ('call' in answered) return answered;
      const { data, text } = answered;
      const content = JSON.stringify([{ type: 'text', text }]);
      const structured = JSON.stringify(data);
      return { result: [`{"content":${content},"structuredContent":${structured},"isError":false${extra}}`] };
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown;
      const { message, code, reason } = thrown;
      const content = JSON.stringify([{ type: 'text', text: `${code} ${reason}: ${message}` }]);
      return { result: [`{"content":${content},"isError":true${extra}}`] };
    }
  }
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

/** No output schema: what is answered depends on the tool that is asked for. */
const toMcpTool = ({ name, title, description, input, readOnly }: SearchableTool) => ({
  name,
  title,
  description,
  inputSchema: input,
  annotations: { readOnlyHint: readOnly, ...(readOnly ? { openWorldHint: false } : {}) },
});
