// Owns: `haft tools add`: a server as a pack of this workspace, without an edit of haft.yaml.
// Refuses: one that cannot be asked for its tools now: a person should see what is added.
import { fail } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { isFrozenRun } from '../../../preset/open-host.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import type { Command, Invocation } from '../command.ts';
import { readObjectArgument } from '../read-argument.ts';

const KINDS = ['mcp', 'stdio'];

export const command: Command = {
  summary: 'Add a server as a pack of this workspace',
  usage: 'NAME [--url URL | -- COMMAND ARG...]',
  description:
    'Starts or reaches it, lists its tools and keeps it for the next start; where there is a haft.lock its tools are pinned. ' +
    'Folders of *.tool.yaml are named in haft.yaml.',
  options: {
    kind: { type: 'string', value: 'KIND', help: 'mcp (the default), or stdio for a program of JSON lines' },
    url: { type: 'string', value: 'URL', help: 'of an MCP server over HTTP, instead of a command' },
    config: {
      type: 'string',
      value: 'JSON',
      help: 'more of what it needs (caps, env, overlays, …), or @file',
    },
  },
  examples: [
    'haft tools add hub --url https://mcp.example.org/',
    'haft tools add memory -- node node_modules/@modelcontextprotocol/server-memory/dist/index.js',
    `haft tools add notes --config '{"caps":{"filesystem":{"read":["notes"]}}}' -- python3 notes.py`,
  ],
  positionals: [1, 64],
  async run(invocation) {
    const { positionals, workspace, io, json, flags } = invocation;
    const [name = '', ...words] = positionals;
    const entry = await entryOf(invocation, words);
    const { tools, problems = [] } = await withWorkspacePacks(workspace, (packs) => packs.add(name, entry), {
      frozen: isFrozenRun(flags),
    });
    if (json)
      io.out(`${JSON.stringify({ added: name, tools, ...(problems.length > 0 ? { problems } : {}) })}\n`);
    else {
      for (const id of tools) io.out(`${id}\n`);
      for (const problem of problems) io.err(`haft: ${problem}\n`);
      io.out(`added ${name}: ${tools.length} tools; haft tools show TOOL says more\n`);
    }
    return 0;
  },
};

async function entryOf({ flags }: Invocation, words: readonly string[]): Promise<JsonObject> {
  const { kind = 'mcp', url, config } = flags as Readonly<Record<string, string | undefined>>;
  if (!KINDS.includes(kind))
    throw fail('usage', `Cannot add a pack of kind "${kind.slice(0, 40)}": take ${KINDS.join(' or ')}`);
  const more = config === undefined ? {} : await readObjectArgument(config, '--config');
  if (url !== undefined && words.length > 0)
    throw fail('usage', 'Cannot add it: take either --url or a command');
  const reached = {
    ...(url === undefined ? {} : { url }),
    ...(words.length === 0 ? {} : { command: words }),
  };
  const whole: JsonObject = { ...more, ...reached };
  if (!('url' in whole) && !('command' in whole))
    throw fail('usage', 'Cannot add it: say how it is reached, with --url URL or -- COMMAND ARG...');
  return { [kind]: whole };
}
