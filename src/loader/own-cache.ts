// Owns: what may be computed again, kept as JSON below the workspace's state folder to start faster.
// Refuses: failing anybody's work, and entries that were not written on this very disk by this host.
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withRegular } from './read-regular.ts';

/** A workspace may have hundreds of servers; what fills the disk are a few large packs. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 256 * 1024 * 1024;

interface Entry<T> {
  readonly format: number;
  /** Which file on which disk this is. A clone or an archive can bring text along, but not these. */
  readonly made: string;
  readonly value: T;
}

/** `format` is counted up whenever an old entry would now be read otherwise. */
export function readOwnCache<T>(folder: string, name: string, format: number): T | undefined {
  return read(folder, `${name}.json`, (descriptor) => {
    const entry = JSON.parse(readFileSync(descriptor, 'utf8')) as Entry<T>;
    return entry.format === format && entry.made === birthOf(descriptor) ? entry.value : undefined;
  });
}

/** Undefined where it cannot be read; a pipe or a device that lies in its place is not waited for. */
function read<T>(folder: string, file: string, take: (descriptor: number) => T | undefined): T | undefined {
  try {
    return withRegular(join(folder, file), (descriptor, { size }) =>
      size <= MAX_BYTES ? take(descriptor) : undefined,
    );
  } catch {
    return undefined;
  }
}

/** `folder` is two levels below the state folder. Does nothing where there is none yet, or it cannot be written. */
export function writeOwnCache<T>(folder: string, name: string, format: number, value: T): void {
  write(folder, `${name}.json`, (descriptor) => {
    const entry: Entry<T> = { format, made: birthOf(descriptor), value };
    writeFileSync(descriptor, JSON.stringify(entry));
  });
}

function write(folder: string, file: string, fill: (descriptor: number) => void): void {
  const temporary = join(folder, `${file}.${process.pid}.tmp`);
  try {
    const state = dirname(dirname(folder));
    // Behind a link that a clone brought along lies somebody's folder, where nothing may be made, written or pruned.
    if (!existsSync(state) || realpathSync.native(state) !== state) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (realpathSync.native(folder) !== folder) return;
    prune(folder);
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      fill(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, join(folder, file));
  } catch {
    remove(temporary);
  }
}

/**
 * The same for what is too large to be one JSON document: whatever bytes its owner likes. `name` has its own ending, so
 * that the two kinds never meet.
 */
export function readOwnBytes(folder: string, name: string, format: number): Buffer | undefined {
  return read(folder, `${name}.bin`, (descriptor) => {
    const head = Buffer.from(headOf(descriptor, format));
    const bytes = readFileSync(descriptor);
    return bytes.subarray(0, head.length).equals(head) ? bytes.subarray(head.length) : undefined;
  });
}

export function writeOwnBytes(
  folder: string,
  name: string,
  format: number,
  chunks: readonly Uint8Array[],
): void {
  write(folder, `${name}.bin`, (descriptor) => {
    writeFileSync(descriptor, Buffer.concat([Buffer.from(headOf(descriptor, format)), ...chunks]));
  });
}

const headOf = (descriptor: number, format: number): string => `${format} ${birthOf(descriptor)}\n`;

function birthOf(descriptor: number): string {
  const { dev, ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Makes room for one more: those that were written first go first. */
function prune(folder: string): void {
  const entries = readdirSync(folder).map((name) => {
    const { size = 0, mtimeMs = 0 } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
    return { path: join(folder, name), size, mtimeMs };
  });
  let bytes = entries.reduce((sum, { size }) => sum + size, 0);
  if (entries.length < MAX_ENTRIES && bytes <= MAX_BYTES) return;
  entries.sort((a, b) => a.mtimeMs - b.mtimeMs);
  for (const [gone, { path, size }] of entries.entries()) {
    if (entries.length - gone < MAX_ENTRIES && bytes <= MAX_BYTES) return;
    remove(path);
    bytes -= size;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // What cannot be removed is in nobody's way.
  }
}
