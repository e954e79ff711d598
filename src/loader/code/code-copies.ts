// Owns: copies of the folders that packs bring code in, by digest: what was hashed is what runs, whatever becomes of the folder.
// Refuses: a folder that is too large to be copied, and a copy that is not what its name says.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { digest, sha256Hex } from '../../base/digest.ts';
import { newId } from '../../base/new-id.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import { isWithin } from '../is-within.ts';
import { isNotRegular, readRegular } from '../read-regular.ts';
import type { KnownFile, Tree, TreeFault, TreeMemory } from './read-tree.ts';
import { isFault, openTreeMemory, readTree } from './read-tree.ts';

export interface CodeCopies {
  /** What the folder holds now, with a copy of exactly that. Throws `pack.invalid`. `label` is what a person calls it. */
  take(code: CodeFolder, label: string): Tree;
  /** The same without a copy. */
  look(code: CodeFolder, label: string): Tree;
  /**
   * Where the copy of what was taken lies, looked at again. One that was removed or damaged is made anew where the folder
   * still holds the same. Throws `tool.changed` where it does not.
   */
  use(code: CodeFolder, digest: string): string;
  /** Whether what lies below `.haft/packs` still is what it was. */
  isWhole(folder: string, digest: string): boolean;
}

/** A folder, or a file, that code lies in. */
export interface CodeFolder {
  /** Absolute, links followed. */
  readonly at: string;
  /** Only these below it, sorted. By default all of it. */
  readonly roots?: readonly string[];
  /** What is no code: paths below it that are shown as they are. */
  readonly live?: readonly string[];
}

export const CODE_BOUNDS = { files: 10_000, bytes: 256 * 1024 * 1024 } as const;

/** What no program runs: Haft reads manifests itself, and the rest is what other programs leave behind. */
const SKIPPED = new Set([
  '.git',
  '.hg',
  '.svn',
  '.haft',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.DS_Store',
]);
const isSkipped = (name: string): boolean => SKIPPED.has(name) || name.endsWith('.tool.yaml');

const DAY_MS = 24 * 3600 * 1000;
/** A copy that nobody used for so long is removed when another one is made. */
const UNUSED_MS = 7 * DAY_MS;
const TOUCH_MS = DAY_MS / 24;
/** So many files are looked at before every call; of more, only their folder. */
const LOOKED_AT = 500;

/** `state` is `.haft` of the workspace. */
export function createCodeCopies(state: string): CodeCopies {
  const home = join(state, 'packs');
  const cacheFolder = join(state, 'cache', 'code');
  const good = new Map<string, Verified>();

  const read = (code: CodeFolder, label: string): Tree => {
    const { at: folder, roots = [], live = [] } = code;
    const memory = openTreeMemory(cacheFolder, JSON.stringify([folder, roots]));
    const tree = treeOf(folder, code, (name, path) => isSkipped(name) || live.includes(path), memory);
    if (isFault(tree)) throw tooMuch(tree, label);
    memory.save();
    return tree;
  };
  const at = (digest: string): string => join(home, digest);
  const isWhole = (copy: string, digest: string, code: CodeFolder): boolean => {
    const known = good.get(copy);
    const root = rootStamp(copy);
    if (root === undefined) return false;
    if (known && known.root === root && known.files > LOOKED_AT) return true;
    const files = known?.memory ?? new Map<string, KnownFile>();
    const tree = treeOf(copy, { ...code, roots: undefined }, (_, path) => !!code.live?.includes(path), files);
    if (isFault(tree) || tree.digest !== digest) return false;
    good.set(copy, { root, files: tree.files.length, memory: files, touched: known?.touched ?? 0 });
    return true;
  };
  /** Of files that may change while they are copied: the bytes that are written are the ones that are hashed. */
  const make = (code: CodeFolder, tree: Tree): boolean => {
    const { at: folder, live = [] } = code;
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const copy = at(tree.digest);
    const umask = process.umask() & 0o555;
    const temporary = join(home, `tmp-${newId('copy')}`);
    try {
      mkdirSync(temporary, { mode: 0o755 });
      const folders = new Set<string>();
      for (const file of tree.files) {
        if (file.path === '') rmSync(temporary, { recursive: true });
        const target = join(temporary, file.path);
        const above = dirname(target);
        if (!folders.has(above)) mkdirSync(above, { recursive: true, mode: 0o755 });
        folders.add(above);
        if (file.link !== undefined) symlinkSync(file.link, target);
        else {
          const bytes = readRegular(join(folder, file.path));
          if (sha256Hex(bytes) !== file.sha256) return false;
          writeFileSync(target, bytes, { mode: file.executable ? 0o555 : 0o444 });
          // Whatever the umask says: another user runs it.
          if (umask !== 0) chmodSync(target, file.executable ? 0o555 : 0o444);
        }
      }
      for (const path of live) placeFor(join(folder, path), join(temporary, path));
      rmSync(copy, { recursive: true, force: true });
      good.delete(copy);
      renameSync(temporary, copy);
      return true;
    } catch (thrown) {
      // Somebody else made the same one at the same moment, or the folder changed under the copying.
      if (existsSync(copy) && isWhole(copy, tree.digest, code)) return true;
      const { code: why = '' } = thrown as NodeJS.ErrnoException;
      if (isNotRegular(thrown) || ['ENOENT', 'ELOOP', 'ENOTDIR'].includes(why)) return false;
      throw fail('path.denied_by_os', `Cannot copy "${folder}" to .haft/packs: the system reports ${why}`);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  };
  const touch = (copy: string): void => {
    const known = good.get(copy);
    const now = Date.now();
    if (known && now - known.touched < TOUCH_MS) return;
    if (known) known.touched = now;
    try {
      writeFileSync(`${copy}.used`, '', { flag: 'a', mode: 0o600 });
      utimesSync(`${copy}.used`, now / 1000, now / 1000);
    } catch {
      // Then it is made anew when it is needed again.
    }
  };

  return {
    look: read,
    isWhole: (folder, digest) => isWhole(folder, digest, { at: folder }),
    take(code, label) {
      if (isWithin(realpathSync.native(dirname(state)), code.at)) throw isWorkspace(label);
      for (let left = 3; left > 0; left--) {
        const tree = read(code, label);
        const copy = at(tree.digest);
        if (!existsSync(copy)) sweep(home);
        const isThere = good.has(copy) || isWhole(copy, tree.digest, code);
        if (isThere || (make(code, tree) && isWhole(copy, tree.digest, code))) {
          touch(copy);
          return tree;
        }
      }
      throw fail(
        'pack.invalid',
        `Cannot take the pack "${label}": its files change while they are copied; try again`,
      );
    },
    use(code, digest) {
      const copy = at(digest);
      if (!isWhole(copy, digest, code)) {
        const tree = readAgain(code);
        const again = tree?.digest === digest && make(code, tree) && isWhole(copy, digest, code);
        if (!again)
          throw fail(
            'tool.changed',
            `Cannot run the code of "${basename(code.at)}": its copy below .haft/packs is damaged or gone, and the folder holds something else by now; start Haft again`,
          );
      }
      touch(copy);
      return copy;
    },
  };

  function readAgain(code: CodeFolder): Tree | undefined {
    try {
      return read(code, code.at);
    } catch {
      return undefined;
    }
  }
}

/** What is shown as it is belongs to what the digest says, too. */
function treeOf(
  folder: string,
  { roots, live = [] }: Pick<CodeFolder, 'live'> & { readonly roots?: readonly string[] | undefined },
  skip: (name: string, path: string) => boolean,
  memory?: TreeMemory,
): Tree | TreeFault {
  const how = { bounds: CODE_BOUNDS, skip, ...(roots ? { roots } : {}), ...(memory ? { memory } : {}) };
  const tree = readTree(folder, how);
  if (isFault(tree) || live.length === 0) return tree;
  return { ...tree, digest: digest('toolpack/v1', canonicalJson({ tree: tree.digest, live: [...live] })) };
}

/** Something to be shown in the place of. */
function placeFor(original: string, at: string): void {
  if (!statSync(original, { throwIfNoEntry: false })?.isFile()) {
    mkdirSync(at, { recursive: true, mode: 0o755 });
    return;
  }
  mkdirSync(dirname(at), { recursive: true, mode: 0o755 });
  writeFileSync(at, '', { mode: 0o444 });
}

interface Verified {
  /** Of the copy's own folder. */
  readonly root: string;
  readonly files: number;
  readonly memory: Map<string, KnownFile>;
  /** When its use was last noted. */
  touched: number;
}

function rootStamp(copy: string): string | undefined {
  const stats = lstatSync(copy, { throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}:${stats.ctimeMs}` : undefined;
}

/** Copies that nobody used for a while, and what was left of copies that were never finished. */
function sweep(home: string): void {
  if (!existsSync(home)) return;
  const before = Date.now() - UNUSED_MS;
  for (const name of readdirSync(home)) {
    // What was installed cannot be made anew from this machine alone.
    if (name.endsWith('.used') || name.startsWith('npm-')) continue;
    const path = join(home, name);
    const used =
      statSync(`${path}.used`, { throwIfNoEntry: false }) ?? lstatSync(path, { throwIfNoEntry: false });
    if (!used || used.mtimeMs > before) continue;
    rmSync(path, { recursive: true, force: true });
    rmSync(`${path}.used`, { force: true });
  }
}

const isWorkspace = (label: string): Failure =>
  fail(
    'pack.invalid',
    `Cannot take the pack "${label}": its folder is the workspace, or holds it, and changes while its programs run; put it in a folder of its own`,
  );

function tooMuch({ fault, path }: TreeFault, label: string): Failure {
  const megabytes = CODE_BOUNDS.bytes / 1024 / 1024;
  const WHY: { readonly [F in TreeFault['fault']]: string } = {
    files: `it has more than ${CODE_BOUNDS.files} files, and all of them are copied before they run; move what is no code of it elsewhere`,
    bytes: `it is larger than ${megabytes} MB, and all of it is copied before it runs; move what is no code of it elsewhere`,
    unreadable: `"${path}" cannot be read, so that it cannot be copied`,
    special: `"${path}" is neither a file nor a folder, nor a link`,
  };
  return fail('pack.invalid', `Cannot take the pack "${label}": ${WHY[fault]}`, { path });
}
