// Owns: what a server that waits for its first call keeps in memory.
// Refuses: memory under load; that depends on the load.
import { makeWorkspace } from '../fixtures.ts';
import { openMcp, type ServerCommand } from '../mcp-client.ts';
import { defineSubject, type Figures } from '../measure.ts';
import { settledRss } from '../processes.ts';
import { SERVERS } from '../product.ts';

interface State {
  readonly workspace: string;
}

async function idleRss(server: ServerCommand): Promise<Figures> {
  const client = openMcp(server);
  await client.initialize();
  const rss = await settledRss(client.pid);
  await client.close();
  return { rss };
}

export const idleMemory = defineSubject<State>({
  name: 'idle-memory',
  about: 'Resident memory of a server after `initialize` and `tools/list`, once it no longer changes.',
  async open() {
    return { workspace: makeWorkspace() };
  },
  async close() {},
  comparisons: [
    {
      name: 'idle server',
      rounds: 5,
      contenders: {
        'haft mcp': ({ workspace }) => idleRss(SERVERS.haft(workspace)),
        'MCP SDK echo': () => idleRss(SERVERS.sdkEcho()),
      },
      goals: [{ figure: 'rss', ratio: '<=', value: 1.0, of: 'MCP SDK echo' }],
    },
  ],
});
