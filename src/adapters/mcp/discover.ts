// Owns: asking a server for its tools, page by page, and turning them into tools of this host.
// Refuses: tools that could not be checked or called; each is reported, and hides no other.
import { isNestedDeeper } from '../../base/canonical-json.ts';
import { isRecord } from '../../base/is-record.ts';
import type { Redactor } from '../../base/redact/create-redactor.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import { shownValue } from '../answer.ts';
import type { Discovery } from '../server-adapter.ts';
import {
  depthFault,
  leftOut,
  nameTools,
  refuseTooMany,
  shownNames,
  unlisted,
  usableTools,
} from '../tool-list.ts';
import { PLAIN_OUTPUT } from './call-result.ts';
import type { Agreement, Channel } from './converse.ts';
import { applyOverlay, type Overlay, type Overlays, overlayFor, unusedOverlays } from './overlay.ts';
import { paramHeaders } from './param-headers.ts';
import type { ListedTool } from './protocol.ts';

export interface DiscoverOptions {
  readonly name: string;
  readonly overlays: Overlays;
  /** Whether arguments are sent as headers too, where the server says so. */
  readonly http: boolean;
  /** Of the secrets that the server was given. */
  readonly redactor: Redactor | undefined;
  readonly limits: BoundTool['contract']['limits'];
}

const MAX_PAGES = 1_000;
/** Of all pages together. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

export async function listTools(
  channel: Channel,
  { name, redactor }: Pick<DiscoverOptions, 'name' | 'redactor'>,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const listed: unknown[] = [];
  const seen = new Set<unknown>();
  let bytes = 0;
  for (let cursor: unknown; seen.size < MAX_PAGES; ) {
    const params = (cursor === undefined ? {} : { cursor }) as JsonObject;
    const answer = await channel.ask({ method: 'tools/list', params }, { signal }).catch((thrown) => {
      const large = isFailure(thrown) && thrown.reason === 'output.too_large';
      throw large ? unlisted(name, `its list is too long (${thrown.message})`) : thrown;
    });
    const shown = (text: string) => redactor?.text(text) ?? text;
    if ('error' in answer) throw unlisted(name, shown(answer.error.message).slice(0, MESSAGE_LENGTH));
    const { tools } = answer.result;
    if (!Array.isArray(tools))
      throw unlisted(
        name,
        tools === undefined
          ? 'its answer has no "tools"'
          : shown(`"tools" of its answer is ${shownValue(tools)}, not a list`),
      );
    refuseTooMany(name, listed.length + tools.length);
    for (const tool of tools) listed.push(tool);
    // One page is held to the bound of every message.
    if (cursor !== undefined) bytes += sizeOf(tools);
    if (bytes > MAX_LIST_BYTES)
      throw unlisted(name, `its pages are over the limit of ${MAX_LIST_BYTES} bytes`);
    cursor = answer.result.nextCursor;
    if (cursor === undefined || cursor === null) return listed;
    if (seen.has(cursor)) break;
    seen.add(cursor);
  }
  throw unlisted(name, 'its pages have no end');
}

const MESSAGE_LENGTH = 300;

/** What cannot be written down is too deep to be taken, and refused for that, tool by tool. */
function sizeOf(tools: readonly unknown[]): number {
  let bytes = 0;
  for (const tool of tools) bytes += isNestedDeeper(tool) ? 0 : Buffer.byteLength(JSON.stringify(tool));
  return bytes;
}

export function bindTools(
  listed: readonly unknown[],
  agreement: Agreement,
  options: DiscoverOptions,
): Discovery {
  const { name, overlays, redactor } = options;
  const { usable, problems, faulty } = usableTools<ListedTool>(name, listed, {
    redactor,
    schemas: ['inputSchema', 'outputSchema'],
    faultOf: (tool) => faultOf(tool, options.http),
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
      `"${name}" has several tools that would be ${id} (${shownNames(same)}): rename one by an overlay`,
    );
  const tools = [...named.tools].map(([id, { tool, overlay }]) =>
    bind(id, tool, overlay, agreement, options),
  );
  const { server, version, instructions } = agreement;
  return {
    tools: tools.sort((a, b) => (a.contract.id < b.contract.id ? -1 : 1)),
    problems,
    left: leftOut(name, faulty, named.collisions),
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
  if (!isRecord(tool)) return 'it is no object';
  const { name, inputSchema, outputSchema } = tool;
  if (typeof name !== 'string' || name === '') return 'it has no name';
  if (!isRecord(inputSchema)) return `"${name}" has no input schema`;
  if (outputSchema !== undefined && !isRecord(outputSchema)) return `the output schema of "${name}" is none`;
  const deep = depthFault(name, [inputSchema, outputSchema]);
  if (deep !== undefined) return deep;
  for (const schema of [inputSchema, outputSchema])
    if (refersElsewhere(schema)) return `a schema of "${name}" refers to another document`;
  const marks = http ? paramHeaders(inputSchema) : [];
  return typeof marks === 'string' ? `"${name}": ${marks}` : undefined;
}

/** Such a document would have to be fetched, and nobody decided that it may. */
function refersElsewhere(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(refersElsewhere);
  if (!isRecord(schema)) return false;
  return Object.entries(schema).some(([key, value]) => {
    if (DATA.has(key)) return false;
    if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') return !value.startsWith('#');
    return refersElsewhere(value);
  });
}

const DATA = new Set(['const', 'enum', 'default', 'examples']);

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
