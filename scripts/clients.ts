// Owns: `npm run clients`: real MCP clients from npm, configured by `haft mcp install` and driven by a scripted model on loopback.
// Refuses: to be a test that everybody runs: it downloads more than a gigabyte. Not part of `npm run verify`.
// usage: clients.ts [--folder DIR] [--only NAME] [--write]
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtCommand } from '../test/support/built-command.ts';
import { AGENTS } from './clients/subjects.ts';
import { COLUMNS, type Row, tryAgent, tryCommands, tryEditor } from './clients/try-client.ts';

const root = join(import.meta.dirname, '..');
const PAGE = join(root, 'docs/clients.md');
const MARKS = ['<!-- npm run clients -->', '<!-- end -->'] as const;
const COMMANDS = { mcporter: 'mcporter', 'MCP Inspector': '@modelcontextprotocol/inspector' } as const;
const EDITORS = { cursor: 'Cursor', vscode: 'VS Code', zed: 'Zed' } as const;

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    only: { type: 'string' },
    write: { type: 'boolean' },
    inside: { type: 'string' },
  },
});
if (values.inside === undefined) outside();
else await inside(values.inside);

/** Everything that needs a network, then itself again where there is only loopback. */
function outside(): void {
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'haft-clients-'));
  try {
    installPackages(folder);
    const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1), '--inside', folder];
    const own = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user'];
    const isHeld = spawnSync('unshare', [...own, 'ip', 'link', 'set', 'lo', 'up']).status === 0;
    if (!isHeld) console.log('No network namespace can be had here: the clients are not kept offline.');
    const [program, ...args] = isHeld
      ? ['unshare', ...own, 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...again]
      : again;
    const env = { ...process.env, HAFT_TEST_BUILD: builtCommand() };
    process.exitCode = spawnSync(program!, args, { stdio: 'inherit', env }).status ?? 1;
  } finally {
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function installPackages(folder: string): void {
  const packages = [...AGENTS.map((agent) => agent.package), ...Object.values(COMMANDS)];
  mkdirSync(folder, { recursive: true });
  if (packages.every((name) => existsSync(join(folder, 'node_modules', name)))) return;
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  console.log(`Installing ${packages.join(', ')}`);
  // npm takes the versions that suit the Node it runs on.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
  const { status } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages],
    {
      cwd: folder,
      stdio: 'inherit',
      env,
    },
  );
  if (status !== 0) throw new Error('npm could not install the clients');
}

async function inside(folder: string): Promise<void> {
  const versionOf = (name: string): string =>
    JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  const work = mkdtempSync(join(folder, 'run-'));
  const place = { work, bin: join(folder, 'node_modules/.bin') };
  const rows: Row[] = [];
  const wants = (title: string) => values.only === undefined || title.includes(values.only);
  const add = (row: Row) => {
    rows.push(row);
    console.log(`${row.problems.length === 0 ? 'ok  ' : 'FAIL'} ${row.title} ${row.version}`);
    for (const problem of row.problems) console.log(`     ${problem}`);
  };
  try {
    for (const agent of AGENTS)
      if (wants(agent.title)) add(await tryAgent(agent, versionOf(agent.package), place));
    for (const [title, name] of Object.entries(COMMANDS))
      if (wants(title)) add(await tryCommands(title, versionOf(name), place));
    for (const [client, title] of Object.entries(EDITORS))
      if (wants(title)) add(await tryEditor(client, title, place));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const table = render(rows);
  console.log(`\n${table}`);
  if (values.write) writePage(table);
  process.exitCode = rows.every(({ problems }) => problems.length === 0) ? 0 : 1;
}

function render(rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['client', 'version', ...COLUMNS]),
    line(['', '', ...COLUMNS].map(() => '---')),
    ...rows.map(({ title, version, cells }) => line([title, version, ...COLUMNS.map((name) => cells[name])])),
  ].join('\n');
}

function writePage(table: string): void {
  const [before, after] = [readFileSync(PAGE, 'utf8')].flatMap((text) => [
    text.split(MARKS[0])[0]!,
    text.split(MARKS[1])[1]!,
  ]);
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(
    PAGE,
    `${before}${MARKS[0]}\n\nTried on ${today}, Node ${process.version}:\n\n${table}\n\n${MARKS[1]}${after}`,
  );
}
