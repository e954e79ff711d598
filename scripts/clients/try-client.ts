// Owns: one client tried: configured, made to list Haft's tools and to call three of them, and what is to be seen afterwards.
// Refuses: to believe the client: the file, the model's side and the audit are looked at.
import { type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { builtCommand } from '../../test/support/built-command.ts';
import { type Step, startModel } from './model-server.ts';
import type { Site, Subject } from './subjects.ts';

export const COLUMNS = ['install says', 'tools', 'read', 'write', 'denied', 'audit'] as const;

export interface Row {
  readonly title: string;
  readonly version: string;
  readonly cells: Readonly<Record<(typeof COLUMNS)[number], string>>;
  readonly problems: readonly string[];
}

interface Place {
  readonly work: string;
  /** Where npm put the programs. */
  readonly bin: string;
}

const NOTE = 'the note says fennel';
/** Without a line break at its end: mcporter would take it away. */
const MADE = 'made through the client';
const STEPS: readonly Step[] = [
  { tool: 'file_read', args: { path: 'note.txt' } },
  { tool: 'file_write', args: { path: 'made.txt', content: MADE } },
  { tool: 'file_read', args: { path: '.env' } },
];
const DENIED = /Cannot read \.env/;
const SECRET = 'swordfish';
const MOST_MS = 180_000;

/** A client with a model of its own choosing, which is ours. */
export async function tryAgent(subject: Subject, version: string, place: Place): Promise<Row> {
  const model = await startModel(STEPS);
  try {
    const site = await makeSite(subject.program, place, model.port);
    for (const [path, text] of Object.entries(subject.files?.(site) ?? {}))
      put(dirname(site.home), path, text);
    const env = { ...environment(site, place), ...subject.env?.(site) };
    const installed = await install(site, subject.install, env);
    const ran = await run(join(place.bin, subject.program), subject.drive(site), {
      cwd: site.workspace,
      env,
    });
    const seen = await look(site, env, model.results);
    const problems = [
      ...(installed.ok ? [] : [`haft mcp install: ${installed.text}`]),
      ...(model.offered.length > 0 ? [] : ['the model was offered no tool of Haft']),
      ...seen.problems,
    ];
    if (problems.length > 0)
      problems.push(`it ended with ${ran.status}: ${ran.text.slice(-1500)}`, ...model.unknown.slice(0, 5));
    const tools = `${model.offered.length}, as \`${model.offered.find((name) => /file_read$/.test(name)) ?? ''}\``;
    return {
      title: subject.title,
      version,
      problems,
      cells: { 'install says': installed.says, tools, ...seen.cells },
    };
  } finally {
    await model.close();
  }
}

/** Programs that call tools by their command line; they read the configuration that Cursor has. */
export async function tryCommands(title: string, version: string, place: Place): Promise<Row> {
  const site = await makeSite(title.replaceAll(/\W/g, '-'), place, 0);
  const env = environment(site, place);
  const installed = await install(site, ['cursor'], env);
  const isInspector = title.includes('Inspector');
  const program = join(place.bin, isInspector ? 'mcp-inspector' : 'mcporter');
  const config = [
    '--cli',
    '--config',
    join(site.workspace, '.cursor/mcp.json'),
    '--server',
    'haft',
    '--method',
  ];
  const ask = (args: readonly string[]) => run(program, args, { cwd: site.workspace, env });
  const pairs = ({ args }: Step) => Object.entries(args).map(([key, value]) => `${key}=${value}`);
  const listed = await ask(isInspector ? [...config, 'tools/list', '--strict'] : ['list', 'haft', '--json']);
  const results: string[] = [];
  for (const step of STEPS) {
    const call = isInspector
      ? [...config, 'tools/call', '--tool-name', step.tool, '--tool-arg', ...pairs(step)]
      : ['call', `haft.${step.tool}`, ...pairs(step), '--output', 'json'];
    results.push((await ask(call)).text);
  }
  const seen = await look(site, env, results);
  const count = listed.text.match(/"inputSchema"/g)?.length ?? 0;
  const warnings = listed.text.match(/^(Warning|Error): tool .*\n.*/gm) ?? [];
  const problems = [
    ...(installed.ok ? [] : [`haft mcp install: ${installed.text}`]),
    ...(listed.status === 0 && count > 0 ? [] : [`it lists no tools: ${listed.text.slice(-1500)}`]),
    ...warnings.map((warning) => warning.replaceAll(/\s+/g, ' ')),
    ...seen.problems,
  ];
  const tools = isInspector ? `${count}, ${warnings.length} warnings with \`--strict\`` : `${count}`;
  return {
    title,
    version,
    problems,
    cells: { 'install says': 'by the file of Cursor', tools, ...seen.cells },
  };
}

/** An editor, of which only the configuration is looked at: it has to hold a command that serves. */
export async function tryEditor(client: string, title: string, place: Place): Promise<Row> {
  const site = await makeSite(client, place, 0);
  const env = environment(site, place);
  const installed = await install(site, [client, '--json'], env);
  const { file, entry, server } = JSON.parse(installed.text) as {
    readonly file: string;
    readonly entry: object;
    readonly server: { readonly tools: number };
  };
  const [servers] = Object.values(JSON.parse(readFileSync(file, 'utf8'))) as [{ readonly haft: object }];
  const isWhole = isDeepStrictEqual(servers.haft, entry);
  const problems = installed.ok && isWhole && server.tools > 0 ? [] : [installed.text];
  const rest = { read: '', write: '', denied: '', audit: '' };
  // It takes over what some editors have.
  const { text } = await run(join(place.bin, 'mcporter'), ['list'], { cwd: site.workspace, env });
  const isRead = text.includes(`[source: ${relative(site.workspace, file)}]`);
  const says = `its configuration only${isRead ? ', which mcporter connects by' : ''}`;
  return { title, version: '', problems, cells: { 'install says': says, tools: `${server.tools}`, ...rest } };
}

async function makeSite(name: string, { work }: Place, port: number): Promise<Site> {
  const site = { home: join(work, name, 'home'), workspace: join(work, name, 'workspace'), port };
  for (const folder of [site.home, site.workspace, join(work, name, 'tmp')])
    mkdirSync(folder, { recursive: true });
  put(site.workspace, 'note.txt', `${NOTE}\n`);
  put(site.workspace, '.env', `TOKEN=${SECRET}\n`);
  const { status, text } = await haft(['init'], site, environment(site, { work, bin: '' }));
  if (status !== 0) throw new Error(text);
  return site;
}

function put(base: string, path: string, text: string): void {
  mkdirSync(dirname(join(base, path)), { recursive: true });
  writeFileSync(join(base, path), text);
}

/** Nothing of whoever runs this. Codex wants no home below the folder for temporary files. */
function environment({ home }: Site, { bin }: Place): Record<string, string> {
  return {
    PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].filter(Boolean).join(':'),
    HOME: home,
    TMPDIR: join(dirname(home), 'tmp'),
    LANG: 'C.UTF-8',
    NO_PROXY: '127.0.0.1,localhost',
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  };
}

async function install(site: Site, args: readonly string[], env: Record<string, string>) {
  const { status, text } = await haft(['mcp', 'install', ...args], site, env);
  const says = /Claude Code|Codex|Gemini CLI|opencode/.test(text)
    ? (text.trim().split('\n').at(-1) ?? '')
    : '';
  return { ok: status === 0, text, says: says.replace(/\.$/, '') };
}

const haft = (args: readonly string[], { workspace }: Site, env: Record<string, string>) =>
  run(process.execPath, [builtCommand(), ...args], { cwd: workspace, env });

/** What the three calls left: with the model, on disk, in the audit. */
async function look(site: Site, env: Record<string, string>, results: readonly string[]) {
  const [read = '', written = '', denied = ''] = results;
  const made = join(site.workspace, 'made.txt');
  const { text } = await haft(['audit', 'list', '--json'], site, env);
  const rows = (JSON.parse(text) as { rows: { phase: string; tool: string; outcome: string }[] }).rows;
  const outcomes = rows.filter(({ phase, tool }) => phase === 'outcome' && tool.startsWith('file_'));
  const told = outcomes.map(({ tool, outcome }) => `${tool} ${outcome}`).join(', ');
  const checks = {
    read: read.includes(NOTE),
    write: written !== '' && existsSync(made) && readFileSync(made, 'utf8') === MADE,
    denied: DENIED.test(denied) && !results.join('').includes(SECRET),
    audit: told === 'file_read ok, file_write ok, file_read denied',
  };
  const facts = { read, write: written, denied, audit: told };
  return {
    cells: mapped(checks, (ok) => (ok ? 'yes' : '**no**')),
    problems: Object.entries(checks).flatMap(([name, ok]) =>
      ok ? [] : [`${name}: ${facts[name as keyof typeof facts].slice(0, 500)}`],
    ),
  };
}

const mapped = <K extends string, V, W>(all: Record<K, V>, to: (value: V) => W): Record<K, W> =>
  Object.fromEntries(Object.entries<V>(all).map(([key, value]) => [key, to(value)])) as Record<K, W>;

/** Both outputs in one text; killed with all that it started when it takes too long. */
function run(program: string, args: readonly string[], options: SpawnOptions) {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk) => {
      text += chunk;
    });
  const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), MOST_MS);
  return new Promise<{ readonly status: number | null; readonly text: string }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => {
      clearTimeout(late);
      resolve({ status, text });
    });
  });
}
