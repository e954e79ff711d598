// Owns: `haft serve`: the daemon host, until it is told to stop.
// Refuses: an address beyond this machine unless it is asked for by name.
import { fail } from '../contract/errors.ts';
import { VERSION } from '../contract/version.ts';
import type { Command } from '../hosts/cli/command.ts';
import { ownCommand } from '../hosts/cli/mcp-clients/own-command.ts';
import { createRequestLog } from '../hosts/cli/request-log.ts';
import { createDaemon } from '../hosts/daemon/create-daemon.ts';
import { takeTokens } from '../hosts/daemon/tokens.ts';
import { recoverRuns } from '../operations/recover-runs.ts';
import { followWorkspace } from '../preset/follow-workspace.ts';
import { isFrozenRun } from '../preset/open-host.ts';

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

export const command: Command = {
  summary: 'Serve the tools over HTTP',
  usage: '[--port N] [--host H]',
  description:
    'Prints the address, the token that calls must carry, and another for answering approvals and managing tools. HAFT_TOKEN and HAFT_APPROVAL_TOKEN set them: two different ones of at least 16 characters. Logs each request on standard error: time, method, path, status, milliseconds; as lines of JSON with --json, not at all with --quiet.',
  options: {
    port: { type: 'string', value: 'N', help: 'the port, or 0 for any (default: 4280)' },
    host: { type: 'string', value: 'H', help: 'the address to listen on (default: 127.0.0.1)' },
  },
  examples: ['haft serve', 'haft serve --port 0 --json'],
  positionals: [0, 0],
  lives: true,
  async run({ runtime, flags, io, json, workspace }) {
    const port = Number(flags.port ?? 4280);
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw fail('usage', `Cannot serve: --port takes 0 to 65535, not "${flags.port}"`);
    const host = (flags.host as string | undefined) ?? '127.0.0.1';
    const tokens = takeTokens(process.env);
    const live = await runtime();
    const daemon = await createDaemon({
      runtime: live,
      version: VERSION,
      host,
      port,
      tokens,
      frozen: isFrozenRun(flags),
      ...(flags.quiet
        ? {}
        : { onRequest: createRequestLog(io, { json, utc: flags.utc === true, color: flags.color }) }),
    });
    // Before anybody is told the address: what they change from then on is seen.
    const unfollow = followWorkspace(live, io.err);
    const [program, ...args] = ownCommand(workspace);
    const mcp = { mcpServers: { haft: { command: program, args } } };
    if (json)
      io.out(
        `${JSON.stringify({ address: daemon.address, token: tokens.calls, approval_token: tokens.management, mcp })}\n`,
      );
    else {
      io.out(`Haft serves ${workspace}\n${daemon.address} token=${tokens.calls}\n`);
      io.out(`To answer approvals and manage tools: token=${tokens.management}\n\n`);
      io.out(`  curl -H "Authorization: Bearer ${tokens.calls}" ${daemon.address}/v1/tools\n\n`);
      io.out(`For an MCP client (or: haft mcp install CLIENT):\n${JSON.stringify(mcp, null, 2)}\n`);
      if (!LOOPBACK.test(host))
        io.err(
          `haft: ${host} can be reached from other machines; whoever has the token can call every tool\n`,
        );
    }
    const unheard = recoverRuns(live.runs, io.err);
    await aborted(io.signal);
    unheard();
    unfollow();
    await daemon.close();
    return 0;
  },
};

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
