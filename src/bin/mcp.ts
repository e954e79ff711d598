// Owns: `haft mcp` as a command: its help and its flags.
// Refuses: serving; see serve-mcp.ts, which the short way uses as well.
import type { Command } from '../hosts/cli/command.ts';
import { serveMcp } from './serve-mcp.ts';

export const command: Command = {
  summary: 'Serve the tools over MCP on standard input and output',
  usage: '[--searchable]',
  description:
    'Clients start it: "haft mcp install CLIENT" configures one (claude, codex, gemini, opencode, cursor, vscode, zed).',
  options: {
    searchable: {
      type: 'boolean',
      help: 'list only find_tool, describe_tool and call_tool, through which all tools are reached',
    },
  },
  examples: [
    'haft mcp install claude',
    'haft mcp',
    'haft mcp --workspace ~/project',
    'haft mcp --searchable',
  ],
  positionals: [0, 0],
  lives: true,
  run: ({ workspace, runtime, io, flags }) =>
    serveMcp({ workspace, open: runtime, say: io.err, searchable: flags.searchable === true }),
};
