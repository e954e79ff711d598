// Owns: checked packs kept beside the workspace's state, so that a start with thousands of tools reads one file.
// Refuses: what changed since: every manifest, and every file that it depends on, must still bear the stamp it had.
import { sha256Hex } from '../../base/digest.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { readOwnBytes, writeOwnBytes } from '../own-cache.ts';
import type { CheckedFile } from './checked-file.ts';
import { type FileStamp, stampAt } from './pack-files.ts';

/** To be counted up whenever a manifest that was good would now be read otherwise or refused. */
const FORMAT = 1;

/**
 * A file that changed so shortly before it was read may change again without a new stamp: clocks of file systems tick
 * slowly. It is not kept, and looked at again next time.
 */
const UNSETTLED_MS = 2_000;

type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number];

interface Index {
  readonly folder: string;
  readonly files: readonly IndexedFile[];
}

/** `depends` are paths with their stamps; `size` is that of the body, and bodies follow each other in this order. */
interface IndexedFile {
  readonly path: string;
  readonly stamp: Stamp;
  readonly ids: readonly [string, ...string[]];
  readonly size: number;
  readonly depends?: readonly (readonly [path: string, stamp: Stamp | null])[];
  readonly diagnostics?: readonly Diagnostic[];
}

/** The manifests among these that are known, and did not change. */
export function readPackCache(
  cacheFolder: string,
  folder: string,
  manifests: ReadonlySet<string>,
): Map<string, CheckedFile> {
  const known = new Map<string, CheckedFile>();
  const bytes = readOwnBytes(cacheFolder, nameOf(folder), FORMAT);
  const end = bytes?.indexOf(NEWLINE) ?? -1;
  if (!bytes || end === -1) return known;
  let index: Index;
  try {
    index = JSON.parse(bytes.toString('utf8', 0, end)) as Index;
  } catch {
    return known;
  }
  const { files } = index;
  const whole = end + 1 + files.reduce((sum, { size }) => sum + size, 0);
  if (index.folder !== folder || whole !== bytes.length) return known;
  const isFresh = createFreshness(folder);
  let next = end + 1;
  for (const { path, stamp, ids, size, depends = [], diagnostics = [] } of files) {
    const body = bytes.subarray(next, next + size);
    next += size;
    if (!manifests.has(path) || !isFresh(path, stamp)) continue;
    if (!depends.every(([one, state]) => isFresh(one, state))) continue;
    known.set(path, {
      path,
      stamp: toStamp(stamp),
      depends: depends.map(([one, state]) => ({ path: one, stamp: state && toStamp(state) })),
      diagnostics,
      tool: { ids, body },
    });
  }
  return known;
}

/** `readAt` is when the first of them was read. */
export function writePackCache(
  cacheFolder: string,
  folder: string,
  files: readonly CheckedFile[],
  readAt: number,
): void {
  const settled = (stamp: FileStamp | null) => stamp === null || stamp.ctimeMs < readAt - UNSETTLED_MS;
  const kept: IndexedFile[] = [];
  const bodies: Uint8Array[] = [];
  for (const { path, stamp, depends = [], diagnostics, tool } of files) {
    if (!tool || !stamp || !settled(stamp) || !depends.every((one) => settled(one.stamp))) continue;
    kept.push({
      path,
      stamp: fromStamp(stamp),
      ids: tool.ids,
      size: tool.body.length,
      ...(depends.length > 0
        ? { depends: depends.map((one) => [one.path, one.stamp && fromStamp(one.stamp)] as const) }
        : {}),
      ...(diagnostics.length > 0 ? { diagnostics } : {}),
    });
    bodies.push(tool.body);
  }
  if (kept.length === 0) return;
  const index: Index = { folder, files: kept };
  writeOwnBytes(cacheFolder, nameOf(folder), FORMAT, [Buffer.from(`${JSON.stringify(index)}\n`), ...bodies]);
}

/** Asks the disk once for each path, however many depend on it. */
function createFreshness(folder: string): (path: string, stamp: Stamp | null) => boolean {
  const seen = new Map<string, FileStamp | null | undefined>();
  return (path, stamp) => {
    let now = seen.get(path);
    if (now === undefined && !seen.has(path)) {
      now = stampAt(folder, path);
      seen.set(path, now);
    }
    if (now === undefined || now === null || stamp === null) return now === stamp;
    return (
      now.size === stamp[0] && now.mtimeMs === stamp[1] && now.ctimeMs === stamp[2] && now.ino === stamp[3]
    );
  };
}

const nameOf = (folder: string): string => sha256Hex(folder).slice(0, 32);
const NEWLINE = 10;
const fromStamp = ({ size, mtimeMs, ctimeMs, ino }: FileStamp): Stamp => [size, mtimeMs, ctimeMs, ino];
const toStamp = ([size, mtimeMs, ctimeMs, ino]: Stamp): FileStamp => ({ size, mtimeMs, ctimeMs, ino });
