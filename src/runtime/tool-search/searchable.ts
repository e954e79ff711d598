// Owns: three tools that stand for all the others, so that a thousand of them cost a reader a few hundred tokens.
// Refuses: to call anything: what `call_tool` is given becomes the call of the tool that it names, and nothing else.
import { closest } from '../../base/closest.ts';
import type { CallRequest } from '../../contract/envelope.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { ToolListing } from '../../contract/runtime.ts';
import type { ToolSearch } from '../../contract/tool-search.ts';

/** What a reader is shown of one of the three. */
export interface SearchableTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly readOnly: boolean;
  run(args: JsonObject, site: SearchableSite): Promise<SearchableAnswer>;
}

export interface SearchableSite {
  /** The tools that there are, in any order; disabled ones are not found, and described by why they are disabled. */
  tools(): readonly ToolListing[];
  /** Why a tool that is none of them cannot be used, such as that its pack is disabled. */
  explainMissing?(id: string): Promise<Failure>;
  /** Over those tools. */
  readonly search: ToolSearch;
}

/** What it answers, with a text for whoever reads; or the call that it stands for, to be made through the pipeline. */
type SearchableAnswer = { readonly data: JsonObject; readonly text: string } | { readonly call: CallRequest };

const USUAL_LIMIT = 8;
const MOST = 50;
const LONGEST_LINE = 160;

export const SEARCHABLE_TOOLS: readonly SearchableTool[] = [
  {
    name: 'find_tool',
    title: 'Find tools',
    description:
      'Find tools that are not listed (packs, runs, artifacts, …) by what they do. Returns names, best first; then use describe_tool and call_tool.',
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to do, in a few words.' },
        limit: { type: 'integer', minimum: 1, maximum: MOST, default: USUAL_LIMIT },
      },
      required: ['query'],
      additionalProperties: false,
    },
    readOnly: true,
    async run(args, { tools, search }) {
      const query = textOf(args, 'find_tool', 'query');
      const limit = limitOf(args.limit);
      const known = new Map(tools().flatMap((one) => (one.enabled ? [[one.contract.id, one.contract]] : [])));
      await search.sync([...known.values()]);
      const found = (await search.search(query, limit)).map(({ id }) => ({
        tool: id,
        description: firstLine(known.get(id)!.description || known.get(id)!.title),
      }));
      const lines = found.map(({ tool, description }) => `${tool}: ${description}`);
      const nothing = `No tool matches; there are ${known.size}. Try other words.`;
      return { data: { tools: found, total: known.size }, text: lines.join('\n') || nothing };
    },
  },
  {
    name: 'describe_tool',
    title: 'Describe a tool',
    description: 'Show what a tool does and the JSON Schema of its arguments.',
    input: {
      type: 'object',
      properties: { tool: { type: 'string', description: 'A name from find_tool.' } },
      required: ['tool'],
      additionalProperties: false,
    },
    readOnly: true,
    async run(args, { tools, explainMissing }) {
      const id = textOf(args, 'describe_tool', 'tool');
      const known = tools();
      const found = known.find((one) => one.contract.id === id || one.name === id);
      if (found && !found.enabled)
        throw fail(
          'tool.disabled',
          `Cannot describe "${id.slice(0, 80)}": it is disabled: ${whyDisabled(found)}`,
        );
      if (!found) {
        const why = await explainMissing?.(id);
        if (why && why.reason !== 'tool.unknown') throw why;
        const all = known.filter(({ enabled }) => enabled);
        const near = closest(
          id,
          all.map((one) => one.contract.id),
        );
        const hint = near ? `did you mean "${near}"?` : 'find_tool knows their names';
        throw fail('tool.unknown', `Cannot describe "${id.slice(0, 80)}": no such tool; ${hint}`);
      }
      const { title, description, input, mutates, idempotent } = found.contract;
      const data = { tool: id, title, description, input_schema: input as JsonObject, mutates, idempotent };
      return { data, text: JSON.stringify(data) };
    },
  },
  {
    name: 'call_tool',
    title: 'Call a tool',
    description: 'Call a tool that is not listed. Policy decides it as a call of that tool.',
    input: {
      type: 'object',
      properties: {
        tool: { type: 'string', description: 'A name from find_tool.' },
        arguments: { type: 'object', description: 'As describe_tool shows them.' },
      },
      required: ['tool'],
      additionalProperties: false,
    },
    readOnly: false,
    async run(args) {
      const tool = textOf(args, 'call_tool', 'tool');
      const { arguments: inner = {} } = args;
      if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
        throw fail('input.schema', 'Cannot use "call_tool": arguments must be an object');
      return { call: { tool, args: inner as JsonObject } };
    },
  },
];

function whyDisabled({ quarantined, denied, lacks, admit }: ToolListing): string {
  if (lacks) return `it needs a credential that nobody has set; a person sets it with ${lacks.join(', ')}`;
  if (admit) return `policy does not grant it; a person allows it with these lines of haft.yaml:\n${admit}`;
  return quarantined ?? denied ?? 'policy does not grant it';
}

function textOf(args: JsonObject, name: string, field: string): string {
  const value = args[field];
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw fail('input.schema', `Cannot use "${name}": ${field} must be a text`);
}

function limitOf(given: unknown): number {
  const limit = given ?? USUAL_LIMIT;
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST) return limit as number;
  throw fail('input.schema', `Cannot use "find_tool": limit must be a whole number from 1 to ${MOST}`);
}

/** Up to the end of the first sentence or line, where that is short enough. */
function firstLine(text: string): string {
  const line = /^.*?(?:[.!?](?=\s)|$)/m.exec(text.trim())?.[0] ?? '';
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
