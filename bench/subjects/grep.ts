// Owns: how fast file contents are searched, against the very program that does it, bare.
// Refuses: to compare different answers: both must find the same lines.
import assert from 'node:assert/strict';
import { rgPath } from '@vscode/ripgrep';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import type { GrepData } from '../../src/tools/fs/grep.ts';
import { repeat } from '../drive.ts';
import { makeWorkspace } from '../fixtures.ts';
import { type McpClient, openMcp } from '../mcp-client.ts';
import { type Comparison, defineSubject } from '../measure.ts';
import { runProcess, timeProcess } from '../processes.ts';
import { mustCall, openRuntime, SERVERS } from '../product.ts';
import { makeSearchTree, SEARCH_TREE } from '../search-tree.ts';

interface State {
  readonly workspace: string;
  readonly runtime: DefaultRuntime;
  readonly haft: McpClient;
  readonly peer: McpClient;
}

interface Question {
  readonly name: string;
  readonly args: {
    readonly pattern: string;
    readonly case_sensitive?: boolean;
    readonly max_results?: number;
  };
  readonly flags: readonly string[];
  readonly expected: number;
  readonly ratio: number;
}

const { rare, common } = SEARCH_TREE;
const QUESTIONS: readonly Question[] = [
  { name: 'a rare literal', args: { pattern: 'rareNeedle' }, flags: [], expected: rare, ratio: 1.15 },
  {
    name: 'a regular expression',
    args: { pattern: 'rare[A-Z]\\w+ = \\d+' },
    flags: [],
    expected: rare,
    ratio: 1.15,
  },
  {
    name: 'without case',
    args: { pattern: 'RARENEEDLE', case_sensitive: false },
    flags: ['--ignore-case'],
    expected: rare,
    ratio: 1.15,
  },
  {
    name: `a common literal (${common.toLocaleString('en')} lines)`,
    args: { pattern: 'commonNeedle', max_results: common },
    flags: [],
    expected: common,
    ratio: 1.3,
  },
];

const BARE = 'rg --json';
const NAMES = 'server-filesystem, names only';

const search = async ({ runtime }: State, { args }: Question) =>
  (await mustCall(runtime, 'grep', args)) as GrepData & { matches: NonNullable<GrepData['matches']> };
const bareArguments = ({ args, flags }: Question) => ['--json', ...flags, args.pattern, '.'];

const timed = async (work: () => Promise<unknown>) => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const comparison = (question: Question): Comparison<State> => ({
  name: question.name,
  rounds: 11,
  contenders: {
    'haft grep': (state) => repeat(2, () => timed(() => search(state, question))),
    [BARE]: ({ workspace }) => repeat(2, () => timeProcess(rgPath, bareArguments(question), workspace)),
  },
  goals: [{ figure: 'p50', ratio: '<=', value: question.ratio, of: BARE }],
});

/** The peer cannot search contents; that it looks at names alone is in its favour. */
const overMcp: Comparison<State> = {
  name: 'over MCP, which files hold a rare literal',
  rounds: 5,
  contenders: {
    'haft mcp': ({ haft }) =>
      repeat(2, () => timed(() => haft.call('grep', { pattern: 'rareNeedle', mode: 'files' }))),
    [NAMES]: ({ peer, workspace }) =>
      repeat(2, () => timed(() => peer.call('search_files', { path: workspace, pattern: '**/*.spec.ts' }))),
  },
  goals: [{ figure: 'p50', ratio: '<', value: 1, of: NAMES }],
};

export const grep = defineSubject<State>({
  name: 'grep',
  about:
    '`grep` over 20,000 files, 250 MB, sorted and held against policy, against bare `rg --json` of the same binary whose ' +
    'output is read but neither parsed nor sorted; and over MCP against `search_files` of ' +
    '`@modelcontextprotocol/server-filesystem`, which looks at names only.',
  async open() {
    const workspace = makeWorkspace();
    makeSearchTree(workspace);
    const haft = openMcp(SERVERS.haft(workspace));
    const peer = openMcp(SERVERS.filesystem(workspace));
    await Promise.all([haft.initialize(), peer.initialize()]);
    const state = { workspace, runtime: await openRuntime(workspace), haft, peer };
    for (const question of QUESTIONS) {
      const { matches, truncated } = await search(state, question);
      const { output } = await runProcess(rgPath, bareArguments(question), workspace);
      assert.equal(truncated, false);
      assert.equal(matches.length, question.expected);
      assert.deepEqual(
        matches.map(({ file, line, col, snippet }) => `${file}:${line}:${col}:${snippet}`).sort(),
        foundBy(output),
      );
    }
    return state;
  },
  async close({ runtime, haft, peer }) {
    await Promise.all([runtime.close(), haft.close(), peer.close()]);
  },
  comparisons: [...QUESTIONS.map(comparison), overMcp],
});

function foundBy(output: Buffer): string[] {
  return output
    .toString('utf8')
    .split('\n')
    .filter((line) => line.startsWith('{"type":"match"'))
    .map((line) => {
      const { path, lines, line_number, submatches } = JSON.parse(line).data;
      return `${path.text.slice(2)}:${line_number}:${submatches[0].start + 1}:${lines.text.trimEnd()}`;
    })
    .sort();
}
