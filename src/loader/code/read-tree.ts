// Owns: what lies below a folder, as one digest: every file by its content, every link by where it leads.
// Refuses: to follow a link, to read without end, and to believe a stamp that may be older than the content it stands for.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { createSha256, digest, sha256Hex } from '../../base/digest.ts';
import { isWithin } from '../is-within.ts';
import { readOwnCache, writeOwnCache } from '../own-cache.ts';

interface TreeBounds {
  readonly files: number;
  readonly bytes: number;
}

export interface TreeFile {
  /** Relative to the folder, with `/`. '' where the folder is a file itself. */
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  readonly executable: boolean;
  /** Of a link: its text. `sha256` is that of the text then. */
  readonly link?: string;
}

export interface Tree {
  /** By path, in bytewise order. */
  readonly files: readonly TreeFile[];
  /** `toolpack/v1`, over paths, contents and what can be run: equal for equal trees, wherever they lie. */
  readonly digest: string;
  readonly bytes: number;
  /** Links that lead out of the folder: what they lead to is in no digest. */
  readonly outward: readonly string[];
}

/** Why there is no digest. `path` is the file that was too much, or could not be read. */
export interface TreeFault {
  readonly fault: 'files' | 'bytes' | 'unreadable' | 'special';
  readonly path: string;
}

/** What is known of files by their stamps. One of these may serve many trees. */
export interface TreeMemory {
  get(path: string): KnownFile | undefined;
  set(path: string, known: KnownFile): void;
}

/** Size, mtime, ctime, inode and device, and the SHA-256 of the content that bore them. */
export type KnownFile = readonly [
  size: number,
  mtimeMs: number,
  ctimeMs: number,
  ino: number,
  dev: number,
  sha256: string,
];

interface TreeOptions {
  readonly bounds: TreeBounds;
  /** Names, or paths below the folder, that are left out with all that is below them. */
  skip?(name: string, path: string): boolean;
  /** Of a folder: only these below it, sorted. What is not there is left out. */
  readonly roots?: readonly string[];
  readonly memory?: TreeMemory;
  /** Folders count, too, also those that hold nothing. By default only what is in them does. */
  readonly folders?: boolean;
}

/**
 * A file that changed so shortly before it was read may change again without a new stamp: clocks of file systems tick
 * slowly. It is read again the next time.
 */
const UNSETTLED_MS = 2_000;

/** A folder, or a single file. Throws ENOENT where nothing is there. */
export function readTree(folder: string, options: TreeOptions): Tree | TreeFault {
  const { bounds, skip = () => false, memory, folders = false } = options;
  const files: TreeFile[] = [];
  const outward: string[] = [];
  const found: string[] = [];
  const now = Date.now();
  const buffer = Buffer.allocUnsafe(64 * 1024);
  let bytes = 0;
  const take = (path: string, stats: Stats): TreeFault | undefined => {
    if (files.length === bounds.files) return { fault: 'files', path };
    bytes += stats.size;
    if (bytes > bounds.bytes) return { fault: 'bytes', path };
    const at = path === '' ? folder : join(folder, path);
    if (stats.isSymbolicLink()) {
      const link = readlinkSync(at);
      if (leadsOut(at, link, folder)) outward.push(path);
      files.push({ path, size: stats.size, sha256: sha256Hex(link), executable: false, link });
      return undefined;
    }
    if (!stats.isFile()) return { fault: 'special', path };
    const sha256 = knownContent(memory?.get(at), stats) ?? hashFile(at, buffer, { memory, now });
    files.push({ path, size: stats.size, sha256, executable: (stats.mode & 0o111) !== 0 });
    return undefined;
  };
  const visit = (below: string): TreeFault | undefined => {
    if (folders && found.push(below) > bounds.files) return { fault: 'files', path: below };
    for (const name of readdirSync(join(folder, below))) {
      const path = below === '' ? name : `${below}/${name}`;
      const fault = skip(name, path) ? undefined : enter(path);
      if (fault) return fault;
    }
    return undefined;
  };
  const enter = (path: string): TreeFault | undefined => {
    try {
      const stats = lstatSync(join(folder, path));
      return stats.isDirectory() ? visit(path) : take(path, stats);
    } catch (thrown) {
      // What went away meanwhile is not there.
      return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : { fault: 'unreadable', path };
    }
  };
  const stats = lstatSync(folder);
  let fault: TreeFault | undefined;
  try {
    if (!stats.isDirectory()) fault = take('', stats);
    else if (!options.roots) fault = visit('');
    else for (const path of options.roots) fault ??= enter(path);
  } catch {
    fault = { fault: 'unreadable', path: '' };
  }
  if (fault) return fault;
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, digest: digestOf(files, found.sort()), bytes, outward };
}

/** By its words, and by where it really leads: a link on the way may lead elsewhere than its name says. */
function leadsOut(at: string, link: string, folder: string): boolean {
  if (isAbsolute(link) || !isWithin(resolve(dirname(at), link), folder)) return true;
  try {
    // The other realpath reads `..` behind a link by its words, too.
    return !isWithin(realpathSync.native(at), realpathSync.native(folder));
  } catch {
    return false;
  }
}

export const isFault = (tree: Tree | TreeFault): tree is TreeFault => 'fault' in tree;

function digestOf(files: readonly TreeFile[], folders: readonly string[]): string {
  const rows = files.map(({ path, sha256, executable, link }) => [
    path,
    link === undefined ? (executable ? 'x' : 'f') : 'l',
    sha256,
  ]);
  const all = folders.length === 0 ? { tree: rows } : { tree: rows, folders };
  return digest('toolpack/v1', canonicalJson(all));
}

function knownContent(known: KnownFile | undefined, stats: Stats): string | undefined {
  if (!known) return undefined;
  const [size, mtimeMs, ctimeMs, ino, dev, sha256] = known;
  const same =
    size === stats.size &&
    mtimeMs === stats.mtimeMs &&
    ctimeMs === stats.ctimeMs &&
    ino === stats.ino &&
    dev === stats.dev;
  return same ? sha256 : undefined;
}

interface Hashing {
  readonly memory: TreeMemory | undefined;
  readonly now: number;
}

function hashFile(at: string, buffer: Buffer, { memory, now }: Hashing): string {
  const descriptor = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = fstatSync(descriptor);
    // It was one a moment ago: what took its place may have no end.
    if (!before.isFile()) throw Object.assign(new Error('it is not a regular file'), { code: 'ENOENT' });
    const hash = createSha256();
    for (let got = readSync(descriptor, buffer); got > 0; got = readSync(descriptor, buffer))
      hash.update(buffer.subarray(0, got));
    const sha256 = hash.hex();
    const after = fstatSync(descriptor);
    const { size, mtimeMs, ctimeMs, ino, dev } = after;
    const still = before.ctimeMs === ctimeMs && before.size === size;
    if (still && ctimeMs < now - UNSETTLED_MS) memory?.set(at, [size, mtimeMs, ctimeMs, ino, dev, sha256]);
    return sha256;
  } finally {
    closeSync(descriptor);
  }
}

/** Counted up whenever an old entry would be read otherwise. */
const FORMAT = 1;

export interface KeptMemory extends TreeMemory {
  /** Keeps what was asked for since, where something of it is new. */
  save(): void;
}

/** `cacheFolder` is two levels below the state folder; `place` is whatever tells one tree from another. */
export function openTreeMemory(cacheFolder: string, place: string): KeptMemory {
  const name = sha256Hex(place).slice(0, 32);
  let known: Map<string, KnownFile> | undefined;
  let asked = new Map<string, KnownFile>();
  let isNew = false;
  const all = () => {
    known ??= new Map(
      Object.entries(readOwnCache<Record<string, KnownFile>>(cacheFolder, name, FORMAT) ?? {}),
    );
    return known;
  };
  return {
    get(path) {
      const found = all().get(path);
      if (found) asked.set(path, found);
      return found;
    },
    set(path, file) {
      asked.set(path, file);
      isNew = true;
    },
    save() {
      known = asked;
      asked = new Map();
      if (isNew) writeOwnCache(cacheFolder, name, FORMAT, Object.fromEntries(known));
      isNew = false;
    },
  };
}
