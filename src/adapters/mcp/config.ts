// Owns: how an installation describes an MCP server: a program or a URL, and what is laid over its tools.
// Refuses: both at once, or neither.
import { fail, isFailure } from '../../contract/errors.ts';
import { parseHttpUrl } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import { PROGRAM_CONFIG, type ProgramConfig, programConfig } from '../program-config.ts';
import { OVERLAY_SCHEMA, type Overlays } from './overlay.ts';
import { MODERN_VERSION } from './protocol.ts';

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
