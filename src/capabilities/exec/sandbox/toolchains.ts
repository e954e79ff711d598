// Owns: which folders outside of /usr a granted program needs in order to run, and the variables that lead it there.
// Refuses: whole homes, and credentials beside a toolchain: only the folders that hold programs and libraries.
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { orUndefined } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';

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
    const real = orUndefined(() => realpathSync.native(file)) ?? file;
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
  const read = orUndefined(() => {
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

const exists = (path: string): boolean => orUndefined(() => statSync(path)) !== undefined;

function isExecutable(path: string): boolean {
  return (
    orUndefined(() => {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    }) ?? false
  );
}
