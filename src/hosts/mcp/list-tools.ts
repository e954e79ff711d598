// Owns: the answer to `tools/list`: which tools a profile holds, and how each looks; docs/reference/mcp.md has it as a table.
// Refuses: tools that cannot be used as things are; find_tool tells of those that are only not listed.
import { isRecord } from '../../base/is-record.ts';
import type { Runtime, ToolListing } from '../../contract/runtime.ts';
import { onlyReads, type ToolContract } from '../../contract/tool.ts';
import { SEARCHABLE_TOOLS, type SearchableTool } from '../../runtime/tool-search/searchable.ts';
import { briefSchema, listedSchema } from './listed-schema.ts';
import { hasFinders, type McpView } from './view.ts';

/** Builtins with one of these tags are for special work, and are not in the default profile. */
const SPECIAL_TAGS = ['artifacts', 'runs'];

/** The tools as JSON text. */
export function listTools(runtime: Runtime, view: McpView): string {
  const usable = runtime.tools().filter((tool) => tool.enabled);
  const tools = usable.filter((tool) => isListed(tool, view)).map((tool) => toMcpTool(tool, view));
  const taken = new Set(usable.map(({ contract }) => contract.id));
  const finders = hasFinders(view) ? SEARCHABLE_TOOLS.filter(({ name }) => !taken.has(name)) : [];
  return JSON.stringify([...tools, ...finders.map(toMcpFinder)]);
}

function isListed({ contract, origin }: ToolListing, { profile }: McpView): boolean {
  if (profile !== 'default') return profile === 'all';
  return isPack(origin) || !contract.tags.some((tag) => SPECIAL_TAGS.includes(tag));
}

const isPack = (origin: string): boolean => origin.startsWith('pack ');

export function toMcpTool({ contract, name, origin }: ToolListing, { outputSchemas }: McpView) {
  const { id, title, description, input, output } = contract;
  return {
    name: name ?? id,
    ...(title === '' ? {} : { title }),
    description,
    inputSchema: isPack(origin) ? listedSchema(input) : briefSchema(input),
    // MCP knows objects alone, and a client that finds another schema takes none of the tools.
    ...(outputSchemas && isRecord(output) && output.type === 'object'
      ? { outputSchema: listedSchema(output) }
      : {}),
    annotations: hintsOf(contract, origin),
  };
}

/**
 * What is left out is what MCP takes for granted (not read-only, not idempotent, reaching out), but for `destructiveHint`: some
 * clients that find none do not ask before a call.
 */
function hintsOf(contract: ToolContract, origin: string) {
  const closed = reachesOut(contract, origin) ? {} : { openWorldHint: false };
  if (onlyReads(contract)) return { readOnlyHint: true, ...closed };
  return { destructiveHint: contract.mutates || !contract.idempotent, ...closed };
}

/** Of a pack's tool nobody knows that it does not, unless it answers the same each time or its server says so. */
function reachesOut({ tags, deterministic }: ToolContract, origin: string): boolean {
  if (tags.includes('network') || tags.includes('shell')) return true;
  return isPack(origin) && !deterministic && !tags.includes('mcp');
}

/** No output schema: what is answered depends on the tool that is asked for. */
const toMcpFinder = ({ name, title, description, input, readOnly }: SearchableTool) => ({
  name,
  title,
  description,
  inputSchema: briefSchema(input),
  annotations: readOnly ? { readOnlyHint: true, openWorldHint: false } : { destructiveHint: true },
});
