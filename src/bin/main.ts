// Owns: the whole command line: the commands of the CLI host, and those that start another host.
// Refuses: any work of its own.
import { CLI_COMMANDS, type Commands } from '../hosts/cli/commands.ts';
import { runCli } from '../hosts/cli/run-cli.ts';

export async function main(): Promise<void> {
  // Everything is written and closed by now: tidying up the heap would only take time.
  process.exit(await runCli(process.argv.slice(2), COMMANDS));
}

export const COMMANDS: Commands = {
  ...CLI_COMMANDS,
  serve: { summary: 'Serve the tools over HTTP', load: async () => (await import('./serve.ts')).command },
  mcp: {
    summary: 'Serve the tools over MCP on standard input and output',
    load: async () => (await import('./mcp.ts')).command,
  },
  completion: {
    summary: 'Print shell completion',
    load: async () => (await import('../hosts/cli/commands/completion.ts')).completionOf(() => COMMANDS),
  },
};
