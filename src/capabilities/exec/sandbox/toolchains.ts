// Owns: which folders outside of /usr a granted program needs in order to run, the variables that lead it there, and the folders
// behind the shims of version managers, for programs that may start no other: a shim is a script that does.
// Refuses: whole homes, and credentials beside a toolchain: only the folders that hold programs and libraries. To run a version
// manager: which version holds is read from where it would read it.
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { foldersUp, isWithin } from '../../../base/rel-path.ts';

export interface Toolchains {
  /** Absolute folders and files, to be shown read-only. */
  readonly paths: readonly string[];
  /** Folders for PATH, before the system's. */
  readonly bins: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ToolchainQuery {
  readonly programs: readonly string[];
  readonly path: string;
  readonly home?: string;
}

export function detectToolchains({ programs, path, home = homedir() }: ToolchainQuery): Toolchains {
  const paths = new Set<string>();
  const bins = new Set<string>();
  const env: Record<string, string> = {};
  const add = (file: string, hops: number): void => {
    const known = KINDS.find(({ marker }) => file.includes(marker));
    if (known) {
      const base = file.slice(0, file.indexOf(known.marker));
      for (const part of known.parts) if (exists(join(base, part))) paths.add(join(base, part));
      for (const [name, part] of Object.entries(known.env)) env[name] = join(base, part);
    }
    const real = ignoreErrors(() => realpathSync.native(file)) ?? file;
    for (const one of [file, real]) if (!known) for (const folder of foldersOf(one, home)) paths.add(folder);
    const interpreter = hops > 0 ? interpreterOf(real) : undefined;
    if (interpreter) add(interpreter, hops - 1);
  };
  for (const program of programs) {
    const file = find(program, path);
    if (!file || isSystem(dirname(file))) continue;
    bins.add(dirname(file));
    add(file, 2);
  }
  const outside = [...paths].filter((folder) => !isSystem(folder));
  return {
    paths: outside.filter((one) => !outside.some((other) => other !== one && isWithin(one, other))),
    bins: [...bins],
    env,
  };
}

/** Version managers whose programs are not below the folder that they need. Paths are relative to what precedes the marker. */
const KINDS: readonly { marker: string; parts: readonly string[]; env: Readonly<Record<string, string>> }[] =
  [
    {
      marker: '/.cargo/bin/',
      parts: ['.cargo/bin', '.cargo/registry', '.cargo/git', '.rustup'],
      env: { CARGO_HOME: '.cargo', RUSTUP_HOME: '.rustup' },
    },
    { marker: '/.pyenv/', parts: ['.pyenv'], env: { PYENV_ROOT: '.pyenv' } },
    { marker: '/.rbenv/', parts: ['.rbenv'], env: { RBENV_ROOT: '.rbenv' } },
    { marker: '/.asdf/', parts: ['.asdf'], env: { ASDF_DATA_DIR: '.asdf' } },
    { marker: '/.volta/', parts: ['.volta'], env: { VOLTA_HOME: '.volta' } },
    { marker: '/.sdkman/', parts: ['.sdkman/candidates'], env: {} },
    { marker: '/nix/store/', parts: ['nix/store'], env: {} },
  ];

/** A program in `x/bin` usually needs `x` (lib, share); not where that would be a home or more. */
function foldersOf(file: string, home: string): string[] {
  const bin = dirname(file);
  const prefix = dirname(bin);
  const tooMuch =
    prefix === '/' || isWithin(home, prefix) || basename(prefix).startsWith('.') || basename(bin) !== 'bin';
  return [tooMuch ? bin : prefix].filter((folder) => !isWithin(home, folder));
}

function find(program: string, path: string): string | undefined {
  if (program.startsWith('/')) return isExecutable(program) ? program : undefined;
  if (program.includes('/')) return undefined;
  return path
    .split(delimiter)
    .filter((dir) => dir.startsWith('/'))
    .map((dir) => join(dir, program))
    .find(isExecutable);
}

/** The program of a `#!` line, unless /usr/bin/env looks it up. */
function interpreterOf(file: string): string | undefined {
  const head = Buffer.alloc(256);
  const read = ignoreErrors(() => {
    const fd = openSync(file, 'r');
    try {
      return readSync(fd, head, 0, head.length, 0);
    } finally {
      closeSync(fd);
    }
  });
  const program = /^#!\s*(\/\S+)/.exec(head.toString('latin1', 0, read ?? 0))?.[1];
  return program && !isSystem(program) ? program : undefined;
}

/** Visible anyway. */
const isSystem = (path: string): boolean =>
  ['/usr', '/bin', '/sbin', '/lib', '/lib64'].some((dir) => isWithin(path, dir));

const exists = (path: string): boolean => ignoreErrors(() => statSync(path)) !== undefined;

function isExecutable(path: string): boolean {
  return (
    ignoreErrors(() => {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    }) ?? false
  );
}

interface ShimSite {
  /** Version files are looked for here and further up. */
  readonly workspace: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly home?: string;
}

/** `bins` for PATH, with what a shim would have started in the place of its folder; without it where that is not known. */
export function behindShims(bins: readonly string[], site: ShimSite): readonly string[] {
  return bins.flatMap((bin) => {
    if (basename(bin) !== 'shims') return [bin];
    const root = dirname(bin);
    const kind = MANAGERS.find(({ folder }) => folder === basename(root));
    return kind ? kind.bins(root, site) : [bin];
  });
}

interface Manager {
  /** What its shims lie in. */
  readonly folder: string;
  bins(root: string, site: ShimSite): readonly string[];
}

const versions =
  (variable: string, file: string) =>
  (root: string, { workspace, env = process.env }: ShimSite): readonly string[] => {
    const said =
      wordsOf(env[variable]?.replaceAll(':', ' ')) ??
      upwards(workspace, file, wordsOf) ??
      wordsOf(read(join(root, 'version'))) ??
      [];
    return said.flatMap((version) => folderOf(join(root, 'versions'), version) ?? []);
  };

const MANAGERS: readonly Manager[] = [
  { folder: '.pyenv', bins: versions('PYENV_VERSION', '.python-version') },
  { folder: '.rbenv', bins: versions('RBENV_VERSION', '.ruby-version') },
  {
    folder: '.asdf',
    bins(root, { workspace, home = homedir() }) {
      const chosen = (folder: string) => toolVersions(read(join(folder, '.tool-versions')));
      const all = new Map([...chosen(home), ...foldersUp(workspace).toReversed().flatMap(chosen)]);
      return [...all].flatMap(([plugin, version]) => folderOf(join(root, 'installs', plugin), version) ?? []);
    },
  },
];

/** `3.12` stands for the latest 3.12.x, as pyenv has it. */
function folderOf(all: string, version: string): string | undefined {
  if (!/^[\w.+-]+$/.test(version) || version.startsWith('.')) return undefined;
  const names = ignoreErrors(() => readdirSync(all)) ?? [];
  const latest = names
    .filter((name) => name.startsWith(`${version}.`))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  const name = names.find((one) => one === version) ?? latest;
  const bin = name === undefined ? undefined : join(all, name, 'bin');
  return bin !== undefined && ignoreErrors(() => statSync(bin))?.isDirectory() ? bin : undefined;
}

function toolVersions(text: string | undefined): (readonly [plugin: string, version: string])[] {
  return (text ?? '').split('\n').flatMap((line) => {
    const [plugin = '', version] = line.replace(/#.*/, '').trim().split(/\s+/);
    return version === undefined || !/^[\w-]+$/.test(plugin) ? [] : [[plugin, version] as const];
  });
}

function upwards<T>(workspace: string, file: string, take: (text: string | undefined) => T | undefined) {
  for (const folder of foldersUp(workspace)) {
    const found = take(read(join(folder, file)));
    if (found) return found;
  }
  return undefined;
}

function wordsOf(text: string | undefined): string[] | undefined {
  const words = (text ?? '')
    .split('\n')
    .flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/))
    .filter((word) => word !== '');
  return words.length > 0 ? words : undefined;
}

const read = (path: string): string | undefined =>
  ignoreErrors(() => readFileSync(path, 'utf8').slice(0, 4096));
