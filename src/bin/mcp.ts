// Owns: `haft mcp` as a command: its help and its flags.
// Refuses: serving; see serve-mcp.ts, which the short way uses as well.
import { fail } from '../contract/errors.ts';
import type { Command } from '../hosts/cli/command.ts';
import { PROFILES, type Profile } from '../hosts/mcp/view.ts';
import { serveMcp } from './serve-mcp.ts';

const NAMES = Object.keys(PROFILES) as Profile[];

export const command: Command = {
  summary: 'Serve the tools over MCP on standard input and output',
  usage: '[--profile NAME] [--output-schemas]',
  description:
    'Clients start it: "haft mcp install CLIENT" configures one (claude, codex, gemini, opencode, cursor, vscode, zed). ' +
    `A profile says which tools are listed: ${NAMES.map((name) => `${name} (${PROFILES[name]})`).join('; ')}. ` +
    'A tool that is not listed can be called all the same; haft.yaml decides what may be called.',
  options: {
    profile: { type: 'string', value: 'NAME', help: `${NAMES.join(', ')} (default: default)` },
    searchable: { type: 'boolean', help: 'the same as --profile searchable' },
    'output-schemas': {
      type: 'boolean',
      help: 'list the schemas of answers, and answer with structuredContent beside the text',
    },
  },
  examples: [
    'haft mcp install claude',
    'haft mcp',
    'haft mcp --workspace ~/project',
    'haft mcp --profile all --output-schemas',
  ],
  positionals: [0, 0],
  lives: true,
  run: ({ workspace, runtime, io, flags }) =>
    serveMcp({
      workspace,
      open: runtime,
      say: io.err,
      view: { profile: profileOf(flags), outputSchemas: flags['output-schemas'] === true },
    }),
};

function profileOf({ profile, searchable }: Readonly<Record<string, unknown>>): Profile {
  if (searchable === true && profile !== undefined && profile !== 'searchable')
    throw fail('usage', 'Cannot serve MCP: --searchable is --profile searchable; leave one of them out');
  const named = searchable === true ? 'searchable' : (profile ?? 'default');
  const found = NAMES.find((name) => name === named);
  if (found) return found;
  throw fail(
    'usage',
    `Cannot serve MCP: there is no profile "${String(named).slice(0, 80)}"; take one of ${NAMES.join(', ')}`,
  );
}
