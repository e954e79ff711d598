// Owns: how fast an agent has its search results over MCP, beside the server that is best known for searching.
// Refuses: names alone; `grep.ts` has a peer for those. Both must find the same lines.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { desktopCommander } from '../desktop-commander.ts';
import { repeat } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type McpClient, openMcp, resultOf } from '../mcp-client.ts';
import { type Comparison, defineSubject } from '../measure.ts';
import { SERVERS } from '../product.ts';
import { makeSearchTree, SEARCH_TREE } from '../search-tree.ts';

interface State {
  readonly workspace: string;
  readonly home: string;
  readonly haft: McpClient;
  readonly peer: McpClient;
}

const PEER = 'Desktop Commander';
const QUESTIONS = { 'a rare literal': 'rareNeedle', 'a regular expression': 'rare[A-Z]\\w+ = \\d+' };

const ours = async ({ haft }: State, pattern: string) =>
  (resultOf(await haft.call('grep', { pattern })).content[0].text as string).split('\n').length;

/** It answers at once that a search has begun, and is asked again until it says that it has ended. */
async function theirs({ peer, workspace }: State, pattern: string): Promise<number> {
  const textOf = async (tool: string, args: object) =>
    resultOf(await peer.call(tool, args)).content[0].text as string;
  const literalSearch = /^\w+$/.test(pattern);
  let text = await textOf('start_search', {
    ...{ path: workspace, pattern, searchType: 'content', ignoreCase: false, literalSearch },
  });
  const sessionId = /session: (\S+)/.exec(text)?.[1];
  do text = await textOf('get_more_search_results', { sessionId });
  while (!text.includes('Status: COMPLETED'));
  return Number(/\((\d+) matches\)/.exec(text)?.[1]);
}

const timed = async (work: () => Promise<number>) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const comparison = ([name, pattern]: readonly [string, string]): Comparison<State> => ({
  name,
  rounds: 7,
  contenders: {
    'haft mcp': (state) => repeat(2, () => timed(() => ours(state, pattern))),
    [PEER]: (state) => repeat(2, () => timed(() => theirs(state, pattern))),
  },
  goals: [{ figure: 'p50', ratio: '<', value: 1, of: PEER }],
});

export const mcpSearch = defineSubject<State>({
  name: 'mcp-search',
  about:
    '`grep` over MCP, 20,000 files, 250 MB, until all lines are there, against `start_search` of Desktop Commander 0.2.23 ' +
    '(the same engine inside; its search runs in the background and is asked for until it has ended).',
  async open() {
    const workspace = makeWorkspace();
    makeSearchTree(workspace);
    const home = mkdtempSync(join(tmpdir(), 'haft-bench-home-'));
    const haft = openMcp(SERVERS.haft(workspace));
    const peer = openMcp(desktopCommander(home));
    await Promise.all([haft.initialize(), peer.initialize()]);
    const state = { workspace, home, haft, peer };
    for (const pattern of Object.values(QUESTIONS)) {
      assert.equal(await ours(state, pattern), SEARCH_TREE.rare);
      assert.equal(await theirs(state, pattern), SEARCH_TREE.rare);
    }
    return state;
  },
  async close({ haft, peer, home }) {
    await Promise.all([haft.close(), peer.close()]);
    rmSync(home, { recursive: true, force: true });
  },
  comparisons: Object.entries(QUESTIONS).map(comparison),
});
