// Owns: the config of an MCP server, and its overlays: another name or description for a tool, a narrower input, or not at all.
// Refuses: to widen: an overlay can take arguments away and narrow them, never add what the server does not take.
import { matchesName } from '../../base/glob.ts';
import { isRecord } from '../../base/is-record.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { ProgramConfig } from '../../contract/program.ts';
import { PROGRAM_CONFIG, programConfig } from '../program-config.ts';
import { MODERN_VERSION } from './protocol.ts';

/** By the server's own name of the tool, or a pattern of it (`*`); later ones are laid over earlier ones. */
export type Overlays = { readonly [name: string]: Overlay };

export interface Overlay {
  readonly hide?: boolean;
  /** In place of the part of the id that comes from the server. */
  readonly rename?: string;
  readonly title?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  /** What the server says of itself may be wrong. */
  readonly idempotent?: boolean;
  readonly mutates?: boolean;
  readonly limits?: {
    readonly timeout_ms?: number;
    readonly max_input_bytes?: number;
    readonly max_output_bytes?: number;
  };
  /** Arguments that are always these; callers neither see nor set them. */
  readonly fix?: JsonObject;
  /** Schemas that arguments must fit too. */
  readonly narrow?: { readonly [argument: string]: JsonSchema };
}

const OVERLAY_SCHEMA = {
  type: 'object',
  properties: {
    hide: { type: 'boolean', description: 'Leaves the tool out.' },
    rename: {
      type: 'string',
      pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$',
      description: 'In place of the part of the id that comes from the server: `find` makes it `PACK.find`.',
    },
    title: { type: 'string', description: "In place of the server's." },
    description: { type: 'string', description: "In place of the server's: what agents are told." },
    tags: { type: 'array', items: { type: 'string' }, description: 'Words to find it by.' },
    idempotent: {
      type: 'boolean',
      description: 'Whether a call may be sent again when its answer was lost, whatever the server says.',
    },
    mutates: { type: 'boolean', description: 'Whether it changes something, whatever the server says.' },
    limits: {
      type: 'object',
      properties: {
        timeout_ms: { type: 'integer', minimum: 1, description: 'Of one call.' },
        max_input_bytes: { type: 'integer', minimum: 1, description: 'Of the arguments, as JSON.' },
        max_output_bytes: { type: 'integer', minimum: 1, description: 'Of one answer.' },
      },
      additionalProperties: false,
      description: "In place of the pack's.",
    },
    fix: {
      type: 'object',
      description: 'Arguments that are always these: callers neither see nor set them.',
    },
    narrow: {
      type: 'object',
      additionalProperties: { type: ['object', 'boolean'] },
      description: 'JSON Schemas by argument that callers must fit as well; nothing can be widened.',
    },
  },
  additionalProperties: false,
} as const;

/** The overlay of one tool: all that match, laid over each other. */
export function overlayFor(overlays: Overlays, name: string): Overlay {
  const laid = Object.entries(overlays).filter(([pattern]) => pattern === name || matchesName(pattern, name));
  return Object.assign({}, ...laid.map(([, overlay]) => overlay));
}

/** The tool under its overlay. Pure; whether it is hidden, and its id, are its caller's. */
export function applyOverlay(tool: BoundTool, overlay: Overlay): BoundTool {
  const { title, description, tags, idempotent, mutates, limits, fix, narrow } = overlay;
  const { contract, binding } = tool;
  return {
    contract: {
      ...contract,
      ...defined({ title, description, tags, idempotent, mutates }),
      limits: {
        timeoutMs: limits?.timeout_ms ?? contract.limits.timeoutMs,
        maxInputBytes: limits?.max_input_bytes ?? contract.limits.maxInputBytes,
        maxOutputBytes: limits?.max_output_bytes ?? contract.limits.maxOutputBytes,
      },
      input: narrowed(contract.input, fix ?? {}, narrow ?? {}),
    },
    binding: fix ? { ...binding, target: { ...binding.target, fix } } : binding,
  };
}

/** What the overlays say that no tool of the server is called. */
export function unusedOverlays(overlays: Overlays, names: readonly string[]): readonly string[] {
  return Object.keys(overlays).filter(
    (pattern) => !names.some((name) => pattern === name || matchesName(pattern, name)),
  );
}

function narrowed(input: JsonSchema, fix: JsonObject, narrow: NonNullable<Overlay['narrow']>): JsonSchema {
  const fixed = Object.keys(fix);
  const narrower = Object.keys(narrow).length > 0 ? [{ properties: narrow }] : [];
  if (fixed.length === 0 && narrower.length === 0) return input;
  if (!isRecord(input)) return narrower[0] ?? input;
  const properties = isRecord(input.properties) ? { ...input.properties } : {};
  for (const name of fixed) delete properties[name];
  const required = Array.isArray(input.required)
    ? input.required.filter((name) => !fixed.includes(name))
    : [];
  return {
    ...input,
    properties,
    ...('required' in input ? { required } : {}),
    // Whoever sets them all the same is told so, and not overruled in silence.
    ...(fixed.length + narrower.length > 0
      ? {
          allOf: [
            ...listOf(input.allOf),
            ...narrower,
            ...fixed.map((name) => ({ not: { required: [name] } })),
          ],
        }
      : {}),
  };
}

/** The arguments as the server gets them. */
export function withFixed(target: JsonObject, args: unknown): Json {
  const { fix } = target;
  return isRecord(fix) && isRecord(args) ? ({ ...args, ...fix } as Json) : (args as Json);
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const defined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;

/** JSON Schema of `installation.config`. */
export const MCP_CONFIG = {
  type: 'object',
  properties: {
    ...PROGRAM_CONFIG,
    url: { type: 'string', description: 'Of a server that is reached over streamable HTTP.' },
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Sent with every request to `url`.',
    },
    protocol: {
      enum: ['auto', '2025-11-25', MODERN_VERSION],
      description:
        'The revision to speak; by default the server is asked. 2025-11-25 stands for all with a handshake.',
    },
    probe_timeout_ms: {
      type: 'integer',
      minimum: 1,
      description:
        'How long a server may take to say which revision it speaks, before it is taken for an older one.',
    },
    overlays: {
      type: 'object',
      additionalProperties: OVERLAY_SCHEMA,
      description:
        'What is laid over its tools, by the name that the server gives each, or a pattern with `*`; later ones over earlier ones.',
    },
  },
  oneOf: [{ required: ['command'] }, { required: ['url'] }],
  additionalProperties: false,
} as const;

/** The fields as they are once the schema holds. */
export interface McpConfig extends ProgramConfig {
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocol?: 'auto' | '2025-11-25' | '2026-07-28';
  readonly probe_timeout_ms?: number;
  readonly overlays?: Overlays;
}

/** What the schema cannot say of it; undefined where it is fine. */
export function mcpProblem({ url }: JsonObject): string | undefined {
  if (typeof url !== 'string') return undefined;
  try {
    parseHttpUrl(url);
    return undefined;
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    const fact = thrown.message.replace(/^Cannot request this URL: /, '');
    return `/url is no URL of a server: ${fact}; write it whole, such as https://example.org/mcp`;
  }
}

export function mcpConfig(name: string, config: JsonObject): McpConfig {
  const { url, command } = config;
  if (url === undefined) return programConfig(name, config);
  if (typeof url !== 'string' || command !== undefined)
    throw fail('pack.invalid', `Cannot open "${name}": its config has to name either a url or a command`);
  parseHttpUrl(url);
  return config as unknown as McpConfig;
}
