// Owns: the files of one pack: which manifests there are, what is in a file, and that none lies outside of the folder.
// Refuses: links that lead out, links to folders, pipes and devices, and files that are too large to be what they should be.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { join, posix, relative } from 'node:path';
import { createSha256 } from '../../base/digest.ts';
import { isWithin } from '../is-within.ts';

export const MAX_BYTES = 1024 * 1024;
const MAX_FOLDERS_DEEP = 32;
const MANIFEST = '.tool.yaml';

export interface PackListing {
  /** Relative to the pack's folder, with `/`, sorted. */
  readonly manifests: readonly string[];
  /** Of what looks as if it was meant to be read. */
  readonly oddities: readonly { readonly path: string; readonly code: string; readonly message: string }[];
}

/** Folders whose names begin with a dot, and `node_modules`, hold nothing that belongs to a pack. */
export function listPack(folder: string): PackListing {
  const manifests: string[] = [];
  const oddities: { path: string; code: string; message: string }[] = [];
  const visit = (below: string, depth: number): void => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const { name } = entry;
      const path = below === '' ? name : `${below}/${name}`;
      if (name.endsWith(MANIFEST) && !entry.isDirectory()) manifests.push(path);
      else if (name.endsWith('.tool.yml')) {
        oddities.push({ path, code: 'file.name', message: 'It is not read: manifests end with .tool.yaml' });
      } else if (entry.isDirectory() && !name.startsWith('.') && name !== 'node_modules') {
        if (depth < MAX_FOLDERS_DEEP) visit(path, depth + 1);
        else
          oddities.push({
            path,
            code: 'file.depth',
            message: `It is not read: it lies more than ${MAX_FOLDERS_DEEP} folders deep`,
          });
      }
    }
  };
  visit('', 0);
  return { manifests: manifests.sort(), oddities };
}

/** What tells one state of a file from another without reading it. A new content has at least a new `ctime`. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
}

export interface PackFile {
  readonly bytes: Buffer;
  readonly stamp: FileStamp;
}

export interface FileRefusal {
  readonly code: string;
  readonly fact: string;
}

/** The bytes of an answer are good until the next one. Undefined where nothing is there. */
export interface PackReader {
  /** A file that a schema names, by its path from the folder: of the pack, or beside it where that is allowed. */
  readSchema(path: string): PackFile | FileRefusal | undefined;
  /** In words: what schemas must not lead out of. */
  readonly bounds: string;
  /** One of `listPack`. */
  readListed(path: string): PackFile | FileRefusal | undefined;
  /** The sha256 of a file of any size. */
  digest(path: string): { readonly sha256: string; readonly stamp: FileStamp } | FileRefusal | undefined;
}

/** Schemas may lie anywhere below `root`, which holds the folder; all else lies in the folder. */
export function createPackReader(folder: string, root = folder): PackReader {
  // Nearly all files fit; what does not gets a buffer of its own.
  const shared = Buffer.allocUnsafeSlow(64 * 1024);
  const open = (path: string): PackFile | FileRefusal =>
    withFile(path, (descriptor, stats) => {
      if (stats.size > MAX_BYTES)
        return { code: 'file.too_large', fact: `is ${stats.size} bytes, over the limit of ${MAX_BYTES}` };
      const bytes = (stats.size <= shared.length ? shared : Buffer.allocUnsafe(stats.size)).subarray(
        0,
        stats.size,
      );
      let used = 0;
      for (let got = -1; got !== 0 && used < bytes.length; used += got)
        got = readSync(descriptor, bytes, used, bytes.length - used, null);
      return { bytes: bytes.subarray(0, used), stamp: stampOf(stats) };
    });
  const hash = (path: string) =>
    withFile(path, (descriptor, stats) => {
      const sha256 = createSha256();
      for (let got = readSync(descriptor, shared); got > 0; got = readSync(descriptor, shared))
        sha256.update(shared.subarray(0, got));
      return { sha256: sha256.hex(), stamp: stampOf(stats) };
    });
  /** What `take` makes of the file that this path leads to, if that is one of the pack. */
  const follow = <T>(path: string, take: (real: string) => T): T | FileRefusal | undefined => {
    if (/^(\.\.(\/|$)|\/)/.test(posix.normalize(path))) return OUTSIDE;
    return answer(() => {
      // Looking is cheaper than failing, and modules are looked for in several places.
      if (!lstatSync(`${folder}/${path}`, QUIETLY)) return undefined;
      const real = realpathSync.native(`${folder}/${path}`);
      return isWithin(real, folder) ? take(real) : OUTSIDE;
    });
  };
  const bounds = root === folder ? "the pack's folder" : 'the workspace, or the root that was given';
  const outside: FileRefusal = { code: 'path.outside', fact: `lies outside of ${bounds}` };
  const isSchema = (real: string) =>
    isWithin(real, folder) || (isWithin(real, root) && BESIDE.test(relative(root, real)));
  const readSchema = (path: string) =>
    answer(() => {
      const whole = join(folder, path);
      if (!isWithin(whole, root)) return outside;
      if (!lstatSync(whole, QUIETLY)) return undefined;
      const real = realpathSync.native(whole);
      if (!isWithin(real, root)) return outside;
      return isSchema(real) ? open(real) : NO_SCHEMA;
    });
  return {
    bounds,
    readSchema: (path) => (root !== folder && path.startsWith('../') ? readSchema(path) : follow(path, open)),
    digest: (path) => follow(path, hash),
    // The walk has been through real folders, so that only the file itself can be a link; then it is not opened.
    readListed: (path) =>
      answer(() => {
        try {
          return open(`${folder}/${path}`);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
          return follow(path, open);
        }
      }),
  };
}

function withFile<T>(path: string, take: (descriptor: number, stats: Stats) => T): T | FileRefusal {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stats = fstatSync(descriptor);
    return stats.isFile() ? take(descriptor, stats) : NOT_REGULAR;
  } finally {
    closeSync(descriptor);
  }
}

function answer<T>(work: () => T): T | FileRefusal | undefined {
  try {
    return work();
  } catch (error) {
    return explain(error);
  }
}

/** To be compared, not kept. Null where nothing is there, undefined where there is no telling: a link may lead elsewhere tomorrow. */
export function stampAt(folder: string, path: string): FileStamp | null | undefined {
  try {
    const stats = lstatSync(`${folder}/${path}`, QUIETLY);
    if (!stats) return null;
    return stats.isFile() ? stats : undefined;
  } catch {
    return undefined;
  }
}

const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): FileStamp => ({ size, mtimeMs, ctimeMs, ino });

const QUIETLY = { throwIfNoEntry: false } as const;
const NOT_REGULAR: FileRefusal = { code: 'file.not_regular', fact: 'is not a regular file' };
/** Beside a pack: what is hidden, and what is no schema by its name, is none of its business. */
const BESIDE = /^(?!\.)(?:[^/]+\/(?!\.))*[^/]+\.(json|ya?ml)$/;
const NO_SCHEMA: FileRefusal = {
  code: 'path.outside',
  fact: 'is hidden, or no .json or .yaml file: beside the pack only such files are read',
};
const OUTSIDE: FileRefusal = { code: 'path.outside', fact: "lies outside of the pack's folder" };

function explain(error: unknown): FileRefusal | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
  if (code === 'ENXIO' || code === 'EISDIR') return NOT_REGULAR;
  return { code: 'file.unreadable', fact: `cannot be read (${code ?? 'unknown'})` };
}
