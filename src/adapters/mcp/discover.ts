// Owns: asking a server for its tools, page by page, and turning them into tools of this host.
// Refuses: tools that could not be checked or called; each is reported, and hides no other.

import { fail } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { isObject } from '../answer.ts';
import { nameTools } from '../tool-names.ts';
import { PLAIN_OUTPUT } from './call-result.ts';
import type { Channel } from './channel.ts';
import type { Agreement } from './converse.ts';
import { applyOverlay, type Overlay, type Overlays, overlayFor, unusedOverlays } from './overlay.ts';
import { paramHeaders } from './param-headers.ts';
import type { ListedTool } from './protocol.ts';

export interface McpDiscovery {
  /** Sorted by id. */
  readonly tools: readonly BoundTool[];
  /** What was left out, and why, one sentence each. */
  readonly problems: readonly string[];
  readonly server: Agreement['server'];
  readonly protocol: string;
  /** What the server says to models about its tools. It is a stranger's text. */
  readonly instructions?: string;
}

export interface DiscoverOptions {
  readonly name: string;
  readonly overlays: Overlays;
  /** Whether arguments are sent as headers too, where the server says so. */
  readonly http: boolean;
  readonly limits: BoundTool['contract']['limits'];
}

const MAX_PAGES = 1_000;

export async function listTools(
  channel: Channel,
  name: string,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const listed: unknown[] = [];
  const seen = new Set<unknown>();
  for (let cursor: unknown; seen.size < MAX_PAGES; ) {
    const params = (cursor === undefined ? {} : { cursor }) as JsonObject;
    const answer = await channel.ask({ method: 'tools/list', params }, { signal });
    if ('error' in answer)
      throw fail('tool.unhealthy', `Cannot list the tools of "${name}": ${answer.error.message}`);
    if (Array.isArray(answer.result.tools)) listed.push(...answer.result.tools);
    cursor = answer.result.nextCursor;
    if (cursor === undefined || cursor === null) return listed;
    if (seen.has(cursor)) break;
    seen.add(cursor);
  }
  throw fail('tool.unhealthy', `Cannot list the tools of "${name}": its pages have no end`);
}

export function bindTools(
  listed: readonly unknown[],
  agreement: Agreement,
  options: DiscoverOptions,
): McpDiscovery {
  const { name, overlays } = options;
  const problems: string[] = [];
  const usable = listed.filter((tool): tool is ListedTool => {
    const fault = faultOf(tool, options.http);
    if (fault !== undefined) problems.push(`"${name}" has a tool that cannot be used: ${fault}`);
    return fault === undefined;
  });
  const names = usable.map((tool) => tool.name);
  for (const pattern of unusedOverlays(overlays, names))
    problems.push(`The overlay "${pattern}" of "${name}" is about no tool that it has`);
  const laid = usable
    .map((tool) => ({ tool, overlay: overlayFor(overlays, tool.name) }))
    .filter(({ overlay }) => overlay.hide !== true);
  const named = nameTools(name, laid, ({ tool, overlay }) => overlay.rename ?? tool.name);
  for (const { id, names: same } of named.collisions)
    problems.push(
      `"${name}" has several tools that would be ${id} (${same.join(', ')}): rename one by an overlay`,
    );
  const tools = [...named.tools].map(([id, { tool, overlay }]) =>
    bind(id, tool, overlay, agreement, options),
  );
  const { server, version, instructions } = agreement;
  return {
    tools: tools.sort((a, b) => (a.contract.id < b.contract.id ? -1 : 1)),
    problems,
    server,
    protocol: version,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function bind(
  id: string,
  tool: ListedTool,
  overlay: Overlay,
  { server }: Agreement,
  { http, limits }: DiscoverOptions,
): BoundTool {
  const hints = tool.annotations ?? {};
  const readOnly = hints.readOnlyHint === true;
  const marks = http ? paramHeaders(tool.inputSchema) : [];
  const target: JsonObject = {
    name: tool.name,
    described: tool.outputSchema !== undefined,
    ...(marks.length > 0 ? { headers: marks as unknown as JsonObject[] } : {}),
  };
  const bound: BoundTool = {
    contract: {
      id,
      version: SEMVER.test(server.version ?? '') ? (server.version as string) : '0.0.0',
      contract: 'v1',
      title: textOf(tool.title) ?? textOf(hints.title) ?? tool.name,
      description: textOf(tool.description) ?? '',
      tags: hints.openWorldHint === false || !http ? ['mcp'] : ['mcp', 'network'],
      input: tool.inputSchema as JsonSchema,
      output: (tool.outputSchema as JsonSchema | undefined) ?? PLAIN_OUTPUT,
      ...(tool.outputSchema === undefined ? { textField: 'text' } : {}),
      deterministic: false,
      idempotent: readOnly || hints.idempotentHint === true,
      mutates: !readOnly,
      limits,
    },
    binding: { adapter: 'mcp', target },
  };
  return applyOverlay(bound, overlay);
}

const SEMVER = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

function faultOf(tool: unknown, http: boolean): string | undefined {
  if (!isObject(tool)) return 'it is no object';
  const { name, inputSchema, outputSchema } = tool;
  if (typeof name !== 'string' || name === '') return 'it has no name';
  if (!isObject(inputSchema)) return `"${name}" has no input schema`;
  if (outputSchema !== undefined && !isObject(outputSchema)) return `the output schema of "${name}" is none`;
  for (const schema of [inputSchema, outputSchema])
    if (refersElsewhere(schema)) return `a schema of "${name}" refers to another document`;
  const marks = http ? paramHeaders(inputSchema) : [];
  return typeof marks === 'string' ? `"${name}": ${marks}` : undefined;
}

/** Such a document would have to be fetched, and nobody decided that it may. */
function refersElsewhere(schema: unknown, depth = 0): boolean {
  if (depth > 100) return true;
  if (Array.isArray(schema)) return schema.some((one) => refersElsewhere(one, depth + 1));
  if (!isObject(schema)) return false;
  return Object.entries(schema).some(([key, value]) => {
    if (DATA.has(key)) return false;
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') return !value.startsWith('#');
    return refersElsewhere(value, depth + 1);
  });
}

const DATA = new Set(['const', 'enum', 'default', 'examples']);

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
