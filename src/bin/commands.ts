// Owns: every command there is: those of the CLI host, and those that start another host.
// Refuses: any work of its own.
import { CLI_COMMANDS, type Commands } from '../hosts/cli/commands.ts';

export const COMMANDS: Commands = {
  ...CLI_COMMANDS,
  serve: { summary: 'Serve the tools over HTTP', load: async () => (await import('./serve.ts')).command },
  mcp: {
    summary: 'Serve the tools over MCP; haft mcp install configures clients',
    load: async () => (await import('./mcp.ts')).command,
    commands: {
      install: {
        summary: 'Add Haft to the configuration of an MCP client',
        load: async () => (await import('../hosts/cli/commands/mcp-install.ts')).command,
      },
    },
  },
  completion: {
    summary: 'Print shell completion',
    load: async () => (await import('../hosts/cli/commands/completion.ts')).completionOf(() => COMMANDS),
  },
};
