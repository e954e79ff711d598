// Owns: the reference page of packs that are servers: every key of `mcp:` and `stdio:`, and of what is laid over tools.
// Refuses: keys of its own: it is made from the schemas that configs are held to, and fails where one says nothing.
import { MCP_CONFIG } from '../src/adapters/mcp/overlay.ts';
import { STDIO_CONFIG } from '../src/adapters/stdio/stdio.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

export function serversPage(): string {
  return [
    '# Packs that are servers',
    '',
    'Every key of `mcp:` and `stdio:` in `packs:` of `haft.yaml`, and of `--config` of `haft tools add`. Other keys are refused. What',
    'they mean together is in [packs](../packs.md); the protocol of `stdio` is in [stdio.md](stdio.md).',
    '',
    '## `mcp`',
    '',
    'An MCP server: a program that is started here (`command`), or one that is reached over HTTP (`url`). One of the two is required.',
    '',
    ...table(MCP_CONFIG, 'mcp'),
    '',
    '```yaml',
    'packs:',
    '  - name: memory',
    '    mcp:',
    '      command: [node, node_modules/@modelcontextprotocol/server-memory/dist/index.js]',
    '      overlays:',
    "        '*': { limits: { timeout_ms: 10000 } }",
    '        delete_entities: { hide: true }',
    '        search_nodes: { rename: find, description: Finds what was remembered., mutates: false }',
    '```',
    '',
    '## `stdio`',
    '',
    'A program that speaks JSON lines. `command` is required.',
    '',
    ...table(STDIO_CONFIG, 'stdio'),
    '',
  ].join('\n');
}

const table = (schema: Schema, name: string): string[] => [
  '| key | value | meaning |',
  '|---|---|---|',
  ...rows(schema, name),
];

function rows({ properties = {}, additionalProperties }: Schema, path: string): string[] {
  const own = Object.entries(properties).flatMap(([key, inner]) => {
    const where = `${path}.${key}`;
    if (!inner.description) throw new Error(`${where} has no description`);
    return [`| \`${where}\` | ${inWords(inner)} | ${cell(inner.description)} |`, ...rows(inner, where)];
  });
  const each = typeof additionalProperties === 'object' && additionalProperties.properties;
  return each ? rows(additionalProperties as Schema, `${path}.NAME`) : own;
}

function inWords({ type, enum: among, items, minimum, additionalProperties }: Schema): string {
  if (among) return among.map((one) => `\`${String(one)}\``).join(' or ');
  if (items) return `a list (each ${inWords(items)})`;
  if (type === 'integer') return minimum === undefined ? 'a whole number' : `a whole number from ${minimum}`;
  if (type === 'object' && typeof additionalProperties === 'object')
    return additionalProperties.type === 'string' ? 'a map of texts' : 'a map by name';
  return WORDS[String(type)] ?? String(type);
}

const WORDS: Readonly<Record<string, string>> = { string: 'text', boolean: 'true or false', object: 'a map' };
const cell = (text: string) => text.replaceAll('|', '\\|');
