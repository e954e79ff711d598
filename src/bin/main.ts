// Owns: the start of the command line.
// Refuses: to load the list of commands for `haft call`, which has to start at once.

import { command as call } from '../hosts/cli/commands/call.ts';
import type { Commands } from '../hosts/cli/commands.ts';
import { runCli } from '../hosts/cli/run-cli.ts';

const CALL: Commands = { call: { summary: call.summary, load: async () => call } };

export async function main(): Promise<void> {
  const argv = process.argv.slice(2);
  const isCall = argv[0] === 'call' && !argv.includes('--help') && !argv.includes('-h');
  const commands = isCall ? CALL : (await import('./commands.ts')).COMMANDS;
  // Everything is written and closed by now: tidying up the heap would only take time.
  process.exit(await runCli(argv, commands));
}
