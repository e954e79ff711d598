// Owns: the package that a server is started from by `npx`: installed once, as a copy, when a person locks or adds the server.
// Refuses: to install anything for a call, to run install scripts, and to run a copy that is not what was installed.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import { newId } from '../../base/new-id.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Unpinned } from '../../contract/lock.ts';
import type { ProgramStart } from '../../contract/program.ts';
import { readRegularText } from '../read-regular.ts';
import { CODE_BOUNDS, type CodeCopies } from './code-copies.ts';
import { isFault, readTree } from './read-tree.ts';

interface NpxCommand {
  /** As npm takes it: `name@version`, a folder, an archive. */
  readonly spec: string;
  /** Which program of the package; by default its only one, or the one that is called like it. */
  readonly bin?: string;
  readonly args: readonly string[];
}

/** What was installed; lies beside it. */
interface Installed {
  readonly name: string;
  readonly script: string;
  /** Of all that was installed, on this machine. */
  readonly tree: string;
  /** `npm:NAME@VERSION` → integrity, of all packages: the same on two machines. */
  readonly packages: { readonly [name: string]: string };
}

const QUIET = /^(-y|--yes|-q|--quiet|--no|--prefer-offline|--prefer-online)$/;
const INSTALL_MS = 300_000;

/** Undefined where it is no `npx`, or one that says more than which package to run. */
export function parseNpx([program, ...words]: readonly string[]): NpxCommand | undefined {
  if (program !== 'npx') return undefined;
  let spec: string | undefined;
  while (words[0]?.startsWith('-')) {
    const word = words.shift() as string;
    const named = /^--package=(.+)$/.exec(word)?.[1];
    if (word === '-p' || word === '--package') spec = words.shift();
    else if (named !== undefined) spec = named;
    else if (word === '--') break;
    else if (!QUIET.test(word)) return undefined;
  }
  const first = words.shift();
  if (first === undefined) return undefined;
  const args = words[0] === '--' ? words.slice(1) : words;
  return spec === undefined ? { spec: first, args } : { spec, bin: first, args };
}

export interface NpxSite {
  readonly root: string;
  readonly code: CodeCopies;
  /** A person asked for what is there now: what is not installed is. */
  readonly install: boolean;
}

export async function takeNpx(command: NpxCommand, { root, code, install }: NpxSite): Promise<TakenServer> {
  const { spec, bin, args } = command;
  const key = `npm-${sha256Hex(JSON.stringify([spec, bin ?? null])).slice(0, 32)}`;
  const folder = join(root, '.haft', 'packs', key);
  let found = readInstalled(folder);
  if (found && !code.isWhole(folder, found.tree)) found = undefined;
  if (!found && install) found = await installPackage(command, folder, root);
  const unpinned = [{ what: `npm of ${spec}`, why: `it is not installed here; haft tools lock installs it` }];
  if (!found) {
    const start = () => {
      throw fail(
        'tool.unhealthy',
        `Cannot start "${spec}": it is not installed here; haft tools lock installs it`,
      );
    };
    return { files: {}, unpinned, start };
  }
  const { packages, tree, script } = found;
  const at = `/haft/${key}`;
  return {
    digest: digest('toolpack/v1', canonicalJson({ packages, script })),
    files: packages,
    unpinned: [],
    start() {
      if (!code.isWhole(folder, tree))
        throw fail(
          'tool.changed',
          `Cannot start "${spec}": what was installed of it below .haft/packs is damaged or gone; haft tools lock installs it again`,
        );
      return { copies: [{ at, from: folder }], command: ['node', `${at}/node_modules/${script}`, ...args] };
    },
  };
}

function readInstalled(folder: string): Installed | undefined {
  try {
    const file = `${folder}.json`;
    return lstatSync(file).isFile() ? (JSON.parse(readRegularText(file)) as Installed) : undefined;
  } catch {
    return undefined;
  }
}

async function installPackage(command: NpxCommand, folder: string, root: string): Promise<Installed> {
  const { spec } = command;
  const temporary = `${folder}-${newId('tmp')}`;
  try {
    mkdirSync(temporary, { recursive: true, mode: 0o755 });
    writeFileSync(join(temporary, 'package.json'), '{"private":true}\n');
    const file = /^(?:file:)?(\.{0,2}\/.*|\.{1,2})$/.exec(spec)?.[1];
    await runNpm(spec, file === undefined ? spec : resolve(root, file), temporary);
    const found = describeInstalled(command, temporary);
    rmSync(folder, { recursive: true, force: true });
    renameSync(temporary, folder);
    writeFileSync(`${folder}.json`, `${JSON.stringify(found)}\n`, { mode: 0o600 });
    return found;
  } finally {
    if (existsSync(temporary)) rmSync(temporary, { recursive: true, force: true });
  }
}

/** As the person's own npm, outside of the sandbox: it is a person who asked for it. No script of a package runs. */
async function runNpm(spec: string, wanted: string, folder: string): Promise<void> {
  const how = ['--ignore-scripts', '--no-audit', '--no-fund', '--install-links', '--omit=dev'];
  const child = spawn('npm', ['install', ...how, '--', wanted], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INSTALL_MS,
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000);
  });
  const code = await new Promise((done) => {
    child.once('error', () => done('not there'));
    child.once('close', done);
  });
  if (code !== 0)
    throw fail('pack.invalid', `Cannot install "${spec}": npm ended with ${code}`, { stderr: said.trim() });
}

interface LockedPackages {
  readonly packages: {
    readonly [path: string]: {
      readonly version?: string;
      readonly integrity?: string;
      readonly dependencies?: Record<string, string>;
    };
  };
}

function describeInstalled({ spec, bin }: NpxCommand, folder: string): Installed {
  const lock = JSON.parse(readRegularText(join(folder, 'package-lock.json'))) as LockedPackages;
  const [name = ''] = Object.keys(lock.packages['']?.dependencies ?? {});
  const manifest = JSON.parse(readRegularText(join(folder, 'node_modules', name, 'package.json'))) as {
    readonly bin?: string | Record<string, string>;
  };
  const bins = typeof manifest.bin === 'string' ? { [name]: manifest.bin } : (manifest.bin ?? {});
  const short = name.slice(name.indexOf('/') + 1);
  const all = Object.values(bins);
  const script =
    bins[bin ?? short] ?? bins[name] ?? (bin === undefined && all.length === 1 ? all[0] : undefined);
  if (script === undefined) throw noProgram(spec, bin, Object.keys(bins));
  const packages: Record<string, string> = {};
  for (const [path, { version = '0.0.0', integrity }] of Object.entries(lock.packages)) {
    const own = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (path !== '') packages[`npm:${own}@${version}`] = integrity ?? contentOf(join(folder, path));
  }
  const tree = readTree(folder, { bounds: CODE_BOUNDS });
  if (isFault(tree))
    throw fail(
      'pack.invalid',
      `Cannot install "${spec}": it is larger than ${CODE_BOUNDS.files} files or 256 MB`,
    );
  return { name, script: join(name, script), tree: tree.digest, packages };
}

/** Of a package that was installed from a folder: nobody has signed for it. */
function contentOf(folder: string): string {
  const tree = existsSync(folder) ? readTree(folder, { bounds: CODE_BOUNDS }) : undefined;
  return tree && !isFault(tree) ? tree.digest : 'none';
}

const noProgram = (spec: string, bin: string | undefined, all: readonly string[]): Failure =>
  fail(
    'pack.invalid',
    `Cannot run "${spec}": ${bin === undefined ? 'it does not say which program to run' : `it has no program "${bin}"`}; it has ${all.join(', ') || 'none'}`,
  );

export interface TakenServer {
  /** Over all of it; undefined where there is nothing to pin. */
  readonly digest?: string;
  /** Every file, by a path that is the same on two machines, with its SHA-256. */
  readonly files: { readonly [path: string]: string };
  readonly unpinned: readonly Unpinned[];
  /** Looked at again at every start. Throws `tool.changed`. */
  start(): ProgramStart;
}
