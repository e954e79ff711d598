// Owns: how long a whole process takes: one call from a shell, and the first list of tools over MCP.
// Refuses: cold disks; a first run of every command warms its caches.

import { repeat } from '../drive.ts';
import { makeFiles, makeWorkspace } from '../fixtures.ts';
import { openMcp, type ServerCommand } from '../mcp-client.ts';
import { defineSubject } from '../measure.ts';
import { runProcess, timeProcess } from '../processes.ts';
import { HAFT, SERVERS } from '../product.ts';

interface State {
  readonly workspace: string;
}

const call = [HAFT, 'call', 'file_read', '{"path":"read0.ts"}', '--json'];

/** From the start of the process to the answer of its first `tools/list`. */
async function firstList(server: ServerCommand): Promise<number> {
  const start = performance.now();
  const client = openMcp(server);
  await client.initialize();
  const ms = performance.now() - start;
  await client.close();
  return ms;
}

export const coldStart = defineSubject<State>({
  name: 'cold-start',
  about:
    'Whole processes, `haft.yaml` present, caches warm: `haft call file_read` of 1 KiB from start to end against ' +
    '`node -e 0`, and the first `tools/list` of `haft mcp` against the echo server.',
  async open() {
    const workspace = makeWorkspace();
    makeFiles(workspace, 'read', 1, 1024);
    const { output } = await runProcess(process.execPath, call, workspace);
    const { ok } = JSON.parse(output.toString('utf8')) as { ok: boolean };
    if (!ok) throw new Error(`haft call failed: ${output}`);
    return { workspace };
  },
  async close() {},
  comparisons: [
    {
      name: 'one call from a shell',
      rounds: 15,
      contenders: {
        'haft call file_read': ({ workspace }) =>
          repeat(3, () => timeProcess(process.execPath, call, workspace)),
        'node -e 0': ({ workspace }) =>
          repeat(3, () => timeProcess(process.execPath, ['-e', '0'], workspace)),
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 1.6, of: 'node -e 0' }],
    },
    {
      name: 'first tools/list',
      rounds: 12,
      contenders: {
        'haft mcp': ({ workspace }) => repeat(2, () => firstList(SERVERS.haft(workspace))),
        'MCP SDK echo': () => repeat(2, () => firstList(SERVERS.sdkEcho())),
      },
      goals: [{ figure: 'p50', ratio: '<=', value: 0.25, of: 'MCP SDK echo' }],
    },
  ],
});
