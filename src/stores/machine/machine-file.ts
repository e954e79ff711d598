// Owns: small files in a folder of this machine's user: looked at without waiting or following links, and replaced whole.
// Refuses: to know what they hold, and a folder that a workspace's tools could reach.
import {
  chmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { fail, isFailure } from '../../contract/errors.ts';
import { configFolder } from '../../contract/own-folders.ts';
import { NO_WAIT, syncFolderSync, withFile } from '../state-files.ts';

export interface MachineFiles {
  readonly folder: string;
  pathOf(name: string): string;
  /** Makes the folder, for its owner alone. */
  prepare(): void;
  /** None where the folder is not there; what else goes wrong is thrown. */
  names(): readonly string[];
  /**
   * Its text; undefined where it is not there. `damaged`: a link, a pipe, a folder, larger than `most`, or, with `own`, a file that
   * another user owns or can write. What else goes wrong is thrown.
   */
  read(name: string, options: ReadOptions): Looked;
  /** Puts a new file in its place, and makes the folder where it is not there. On the disk when it returns, with `durable`. */
  replace(name: string, bytes: string | Uint8Array, options: { readonly durable: boolean }): void;
  /** Whether it was there. */
  remove(name: string): boolean;
}

type Looked = { readonly text: string } | 'damaged' | undefined;

interface ReadOptions {
  readonly most: number;
  readonly own: boolean;
}

/** Throws where there is no folder of this user outside of the workspace. */
export function openMachineFiles(site: MachineSite, name: string): MachineFiles {
  const machine = findMachineFolder(site);
  const folder = join(machine, name);
  const pathOf = (file: string) => join(folder, file);
  const prepare = () => {
    prepareMachineFolder(machine);
    prepareMachineFolder(folder);
  };
  return {
    folder,
    pathOf,
    prepare,
    names: () => unlessMissing(() => readdirSync(folder)) ?? [],
    read: (file, options) => unlessMissing(() => look(pathOf(file), options)),
    replace(file, bytes, { durable }) {
      prepare();
      replaceFile(pathOf(file), bytes, durable);
      if (durable) syncFolderSync(folder);
    },
    remove(file) {
      const removed = unlessMissing(() => {
        rmSync(pathOf(file));
        return true;
      });
      if (removed) syncFolderSync(folder);
      return removed ?? false;
    },
  };
}

/** The same, for what can do without: undefined where there is no such folder. */
export function findMachineFiles(site: MachineSite, name: string): MachineFiles | undefined {
  try {
    return openMachineFiles(site, name);
  } catch (thrown) {
    if (isFailure(thrown)) return undefined;
    throw thrown;
  }
}

/** For those that can do without: none where they cannot be listed. */
export const namesOf = (files: MachineFiles | undefined): readonly string[] =>
  ignoreErrors(() => files?.names()) ?? [];

function look(path: string, { most, own }: ReadOptions): Looked {
  try {
    return withFile(path, NO_WAIT, (descriptor) => {
      const stat = fstatSync(descriptor);
      if (!stat.isFile() || stat.size > most) return 'damaged';
      const isOwn = stat.uid === (process.geteuid?.() ?? stat.uid) && (stat.mode & 0o022) === 0;
      return own && !isOwn ? 'damaged' : { text: readFileSync(descriptor, 'utf8') };
    });
  } catch (thrown) {
    // A link, or a socket.
    if (['ELOOP', 'ENXIO'].includes(codeOf(thrown))) return 'damaged';
    throw thrown;
  }
}

function replaceFile(path: string, bytes: string | Uint8Array, durable: boolean): void {
  const temporary = `${path}.${process.pid}.tmp`;
  // What a process of the same number left.
  rmSync(temporary, { force: true });
  try {
    withFile(temporary, 'wx', (descriptor) => {
      writeFileSync(descriptor, bytes);
      if (durable) fsyncSync(descriptor);
    });
    renameSync(temporary, path);
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw thrown;
  }
}

function unlessMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(thrown))) return undefined;
    throw thrown;
  }
}

const codeOf = (thrown: unknown): string => (thrown as NodeJS.ErrnoException).code ?? '';

export interface MachineSite {
  readonly env: { readonly [name: string]: string | undefined };
  /** The absolute, resolved workspace. */
  readonly workspace: string;
}

/** `$XDG_CONFIG_HOME/haft`, or `~/.config/haft`. It need not be there yet. */
export function findMachineFolder({ env, workspace }: MachineSite): string {
  const folder = configFolder(env);
  if (folder === undefined) {
    throw fail(
      'credentials.key',
      'Cannot find the folder of the key: set HOME, or the key itself in HAFT_KEY',
    );
  }
  // Both are resolved, so that names alone tell.
  const real = resolved(folder);
  if (real === workspace || real.startsWith(workspace === '/' ? '/' : `${workspace}/`)) {
    throw fail(
      'credentials.key',
      'Cannot keep credentials: the folder of the key lies in the workspace, where tools work; set XDG_CONFIG_HOME to a folder outside of it',
    );
  }
  return folder;
}

/** Makes it, for its owner alone. */
export function prepareMachineFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if ((lstatSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

/** Where links lead, of as much of the path as is there. */
function resolved(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolved(parent), path.slice(parent.length));
  }
}

/** The file that is about one workspace. */
export const fileNameOf = (workspace: string): string => `${sha256Hex(workspace)}.json`;
