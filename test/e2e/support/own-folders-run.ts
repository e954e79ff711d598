// Owns: a process whose workspace is its home: it lets tools and programs try what lies in Haft's own folders, and says what
// got through, one line for each layout.
// Refuses: to ask the code under test what is Haft's own.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Hex } from '../../../src/base/digest.ts';
import type { JsonObject } from '../../../src/contract/json.ts';
import { createRuntime } from '../../../src/index.ts';

export interface OwnReport {
  readonly layout: string;
  readonly problems: readonly string[];
  /** How the program ended: `ok`, or why it did not run. */
  readonly ended: string;
  /** Whether other folders beside Haft's own can be written, by tools and by the program. */
  readonly works: boolean;
}

interface Layout {
  /** Relative to the home: where the two really lie. */
  readonly config: string;
  readonly cache: string;
  readonly exists: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly folders?: readonly string[];
}

const PLAIN = { config: '.config/haft', cache: '.cache/haft' };
const LAYOUTS: Readonly<Record<string, Layout>> = {
  there: { ...PLAIN, exists: true },
  'not there yet': { ...PLAIN, exists: false },
  'named by variables': {
    config: 'set/conf/haft',
    cache: 'set/{odd}*[x]/haft',
    exists: true,
    env: { XDG_CONFIG_HOME: 'set/conf', XDG_CACHE_HOME: 'set/{odd}*[x]' },
  },
  'beside what variables name': { ...PLAIN, exists: true, env: { XDG_CONFIG_HOME: '../elsewhere' } },
  'behind a link': {
    config: 'dot/files/haft',
    cache: '.cache/haft',
    exists: true,
    links: { '.config': 'dot/files' },
  },
  'behind a link to nothing yet': {
    config: 'dot/files/haft',
    cache: '.cache/haft',
    exists: false,
    links: { '.config': 'deep/../files' },
    folders: ['dot/inner', 'deep'],
  },
};
// What `deep/../files` means where `deep` is a link: `dot/files`, and not `files`.
const DEEP = 'behind a link to nothing yet';

const SECRET = 'the-key-of-this-host';
const POLICY = `version: 1\nshell_allow: ['^bash try\\.sh$']\n`;

async function tryLayout(name: string, layout: Layout): Promise<OwnReport> {
  const base = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-own-')));
  const home = join(base, 'home');
  const at = (path: string) => join(home, path);
  const { config, cache, exists, env = {}, links = {}, folders = [] } = layout;
  const put = (path: string, text: string) => {
    mkdirSync(join(at(path), '..'), { recursive: true });
    writeFileSync(at(path), text);
  };
  mkdirSync(home);
  for (const folder of folders) if (folder !== 'deep') mkdirSync(at(folder), { recursive: true });
  if (name === DEEP) symlinkSync('dot/inner', at('deep'));
  for (const [path, target] of Object.entries(links)) symlinkSync(target, at(path));
  if (exists) for (const folder of [config, cache]) put(`${folder}/key`, SECRET);
  put('haft.yaml', POLICY);
  const ways = [...new Set([config, cache, ...(links['.config'] ? ['.config/haft'] : [])])];
  put('try.sh', script(ways, Object.keys(links)));
  put('ordinary', 'x');
  for (const key of ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME']) delete process.env[key];
  process.env.HOME = home;
  for (const [key, value] of Object.entries(env)) process.env[key] = at(value);
  const runtime = await createRuntime({ workspace: home, trust: sha256Hex(POLICY) });
  const problems: string[] = [];
  const call = async (tool: string, args: JsonObject) => {
    const answer = await runtime.call({ tool, args });
    if (JSON.stringify(answer).includes(SECRET))
      problems.push(`${tool} ${JSON.stringify(args)} shows the key`);
    return answer.errors[0]?.reason ?? 'ok';
  };
  const refused = async (tool: string, args: JsonObject) => {
    const reason = await call(tool, args);
    if (reason !== 'path.protected') problems.push(`${tool} ${JSON.stringify(args)}: ${reason}`);
  };
  for (const way of ways) {
    const upper = way.slice(0, way.lastIndexOf('/'));
    await refused('file_read', { path: `${way}/key` });
    await refused('file_write', { path: `${way}/trust/made.json`, content: 'x' });
    await refused('fs_delete', { path: way, recursive: true });
    await refused('fs_copy', { src: 'ordinary', dst: `${way}/copied` });
    if (exists && !links[upper]) await refused('fs_move', { src: upper, dst: 'moved' });
    if (exists) await refused('fs_copy', { src: way, dst: 'copied' });
  }
  for (const link of Object.keys(links)) {
    await refused('fs_delete', { path: link });
    await refused('fs_move', { src: link, dst: 'moved' });
  }
  const ALL = { include_hidden: true, include_ignored: true };
  const searched = await call('grep', { pattern: SECRET.slice(0, -4), ...ALL });
  const listed = await runtime.call({ tool: 'fs_list', args: { glob: '**', ...ALL } });
  if (searched !== 'ok' || JSON.stringify(listed).includes('haft/key'))
    problems.push(`searched ${searched}, listed`);
  const made = await call('file_write', { path: '.config/other/app', content: 'x' });
  const ended = await call('shell_exec', { cmd: 'bash try.sh', timeout_ms: 60_000 });
  await runtime.close();
  for (const way of ways) {
    for (const left of ['made', 'trust', 'copied'])
      if (existsSync(at(`${way}/${left}`))) problems.push(`${way}/${left} was made`);
    if (exists && readFileSync(at(`${way}/key`), 'utf8') !== SECRET) problems.push(`${way}/key was changed`);
  }
  for (const link of Object.keys(links))
    if (!lstatSync(at(link)).isSymbolicLink()) problems.push(`${link} is no link any more`);
  const worked = ended !== 'ok' || existsSync(at('.config/beside'));
  rmSync(base, { recursive: true });
  return { layout: name, problems, ended, works: made === 'ok' && worked };
}

/** Tries everything, and ends well; where it runs at all, what it prints is looked at. */
const script = (ways: readonly string[], links: readonly string[]): string =>
  [
    ...ways.flatMap((way) => {
      const quoted = `'${way}'`;
      const upper = `'${way.slice(0, way.lastIndexOf('/'))}'`;
      return [
        `cat ${quoted}/key; ls -la ${quoted}`,
        `chmod 700 ${quoted}; echo x > ${quoted}/key; mkdir -p ${quoted}/trust; echo x > ${quoted}/made`,
        `rm -rf ${quoted}; mv ${quoted} away; mv ${upper} aside; mkdir -p ${quoted}/trust; ln -s /tmp ${quoted}`,
      ];
    }),
    ...links.map((link) => `rm '${link}'; mkdir -p 'evil/haft/trust'; ln -s evil '${link}'`),
    'mkdir -p .config; echo x > .config/beside',
    'exit 0',
  ].join('\n');

for (const [name, layout] of Object.entries(LAYOUTS))
  process.stdout.write(`${JSON.stringify(await tryLayout(name, layout))}\n`);
