// Owns: listing folders and finding files over MCP stdio, against the reference file server.
// Refuses: to compare different answers: both must name the same files.
import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import { drive, driveBoth } from '../drive.ts';
import { type FileServers, openFileServers } from '../file-servers.ts';
import { makeFlatFolder, makeTree, TREE } from '../fixtures.ts';
import { type RawAnswer, resultOf } from '../mcp-client.ts';
import { type Comparison, defineSubject, type Goal, type Scale } from '../measure.ts';

const PEER = 'server-filesystem';
const PATTERN = '**/*.spec.ts';

interface Question {
  readonly name: string;
  readonly rounds: number;
  readonly inFlight: number;
  readonly expected: number;
  readonly ours: readonly [tool: string, args: object];
  theirs(workspace: string): readonly [tool: string, args: object];
  /** A line of the peer's answer, as a path below the workspace. */
  pathOf(line: string, workspace: string): string;
  readonly goals: readonly Goal[];
}

const folder = (name: string, files: number, share: Pick<Goal, 'ratio' | 'value'>): Question => ({
  name: `list a folder of ${files.toLocaleString('en')}`,
  rounds: 9,
  inFlight: 8,
  expected: files,
  ours: ['fs_list', { glob: `${name}/*`, max_results: files, include_dirs: true }],
  theirs: (workspace) => ['list_directory', { path: join(workspace, name) }],
  pathOf: (line) => `${name}/${line.replace('[FILE] ', '')}`,
  goals: [
    { figure: 'p50', ...share, of: PEER },
    ...(share.value > 1 ? [] : [{ figure: 'rate', ratio: '>', value: 1, of: PEER } as const]),
  ],
});

const QUESTIONS: readonly Question[] = [
  folder('small', 100, { ratio: '<', value: 1 }),
  folder('large', 10_000, { ratio: '<=', value: 1.1 }),
  {
    name: `find ${TREE.matching} of ${TREE.files.toLocaleString('en')} files`,
    rounds: 5,
    inFlight: 1,
    expected: TREE.matching,
    ours: ['fs_list', { glob: PATTERN, max_results: TREE.files }],
    theirs: (workspace) => ['search_files', { path: workspace, pattern: PATTERN }],
    pathOf: (line, workspace) => relative(workspace, line),
    goals: [{ figure: 'p50', ratio: '<=', value: 0.1, of: PEER }],
  },
];

const askOurs = ({ haft }: FileServers, { ours }: Question) => haft.call(...ours);
const askTheirs = ({ peer, workspace }: FileServers, { theirs }: Question) => peer.call(...theirs(workspace));

/** One round: slow questions are only asked one at a time. */
const round = (ask: (servers: FileServers, question: Question) => Promise<unknown>, question: Question) => {
  const load = { inFlight: question.inFlight };
  const phases = question.inFlight > 1 ? driveBoth : drive;
  return (servers: FileServers, { sliceMs }: Scale) =>
    phases(() => ask(servers, question), { ...load, ms: sliceMs });
};

const comparison = (question: Question): Comparison<FileServers> => ({
  name: question.name,
  rounds: question.rounds,
  contenders: { 'haft mcp': round(askOurs, question), [PEER]: round(askTheirs, question) },
  goals: question.goals,
  also: question.goals.some(({ figure }) => figure === 'rate') ? [] : [{ figure: 'rate', of: PEER }],
});

const filesIn = (answer: RawAnswer): string[] => resultOf(answer).content[0].text.split('\n');
const linesIn = (answer: RawAnswer): string[] => resultOf(answer).structuredContent.content.split('\n');

export const mcpList = defineSubject<FileServers>({
  name: 'mcp-list',
  about:
    'Listings over MCP stdio against `@modelcontextprotocol/server-filesystem`: `fs_list` against `list_directory`, and ' +
    'against `search_files` in a tree of 20,000 files. Ours are sorted and obey .gitignore; the peer’s neither.',
  async open() {
    const servers = await openFileServers((workspace) => {
      makeTree(workspace);
      makeFlatFolder(workspace, 'small', 100);
      makeFlatFolder(workspace, 'large', 10_000);
    });
    for (const question of QUESTIONS) {
      const ours = filesIn(await askOurs(servers, question));
      const theirs = linesIn(await askTheirs(servers, question));
      assert.equal(ours.length, question.expected);
      assert.deepEqual(
        ours.toSorted(),
        theirs.map((line) => question.pathOf(line, servers.workspace)).sort(),
      );
    }
    return servers;
  },
  close: (servers) => servers.close(),
  comparisons: QUESTIONS.map(comparison),
});
