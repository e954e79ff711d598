// Owns: what the whole pipeline costs a call over MCP that does nothing by itself.
// Refuses: files; `mcp-files.ts` has those.
import { join } from 'node:path';
import { build } from 'esbuild';
import { driveBoth } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type McpClient, openMcp } from '../mcp-client.ts';
import { defineSubject } from '../measure.ts';
import { ROOT, SERVERS } from '../product.ts';

interface State {
  readonly workspace: string;
  readonly haft: McpClient;
  readonly sdk: McpClient;
}

const echo = (server: McpClient) => () => server.call('echo', { text: 'The quick brown fox.' });

export const mcpEcho = defineSubject<State>({
  name: 'mcp-echo',
  about:
    'An echo tool over MCP stdio with validation, policy and audit, against the echo server of the MCP SDK v1 with none ' +
    'of it: throughput at 64 in flight, p50 with one call at a time.',
  async open() {
    const workspace = makeWorkspace();
    const bundle = join(workspace, 'haft-echo.cjs');
    await build({
      entryPoints: [join(ROOT, 'bench/haft-echo.ts')],
      outfile: bundle,
      bundle: true,
      platform: 'node',
      target: 'node22',
      format: 'cjs',
      minify: true,
      logLevel: 'warning',
    });
    const haft = openMcp({ args: [bundle, workspace] });
    const sdk = openMcp(SERVERS.sdkEcho());
    await Promise.all([haft.initialize(), sdk.initialize()]);
    return { workspace, haft, sdk };
  },
  async close({ haft, sdk }) {
    await Promise.all([haft.close(), sdk.close()]);
  },
  comparisons: [
    {
      name: 'echo, 64 in flight',
      rounds: 15,
      contenders: {
        haft: ({ haft }, { sliceMs }) => driveBoth(echo(haft), { inFlight: 64, ms: sliceMs }),
        'MCP SDK echo': ({ sdk }, { sliceMs }) => driveBoth(echo(sdk), { inFlight: 64, ms: sliceMs }),
      },
      goals: [{ figure: 'rate', ratio: '>=', value: 1.3, of: 'MCP SDK echo' }],
      also: [{ figure: 'p50', of: 'MCP SDK echo' }],
    },
  ],
});
