// Owns: `haft mcp`: the MCP host on this process's standard input and output.
// Refuses: to print anything but MCP on standard output.
import { ERRORS, toErrorEntry } from '../contract/errors.ts';
import { VERSION } from '../contract/version.ts';
import type { Command } from '../hosts/cli/command.ts';
import { describeError } from '../hosts/cli/output.ts';
import { serveStdio } from '../hosts/mcp/serve-stdio.ts';

export const command: Command = {
  summary: 'Serve the tools over MCP on standard input and output',
  usage: '',
  description:
    'For the configuration of an MCP client: command "haft", arguments ["mcp", "--workspace", DIR].',
  examples: ['haft mcp', 'haft mcp --workspace ~/project'],
  positionals: [0, 0],
  async run({ runtime, io }) {
    // Opening starts at once, but the handshake does not wait for it.
    const opened = runtime();
    const exit = opened.then(
      () => 0,
      (thrown) => {
        const error = toErrorEntry(thrown);
        io.err(describeError(error));
        return ERRORS[error.reason].exit;
      },
    );
    const server = serveStdio(() => opened, VERSION, { input: process.stdin, output: process.stdout });
    // The client is told when another policy changes what it may call. Loaded after the handshake: a start does not need it.
    const following = opened.then(async (live) => {
      const { followPolicy } = await import('../hosts/cli/follow-policy.ts');
      return followPolicy(live, io.err, server.toolsChanged);
    });
    following.catch(() => {});
    const stop = () => process.stdin.destroy();
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
    await server.ended;
    (await following.catch(() => undefined))?.();
    return exit;
  },
};
