// Owns: checked packs kept beside the workspace's state, so that a start with thousands of tools reads one file.
// Refuses: what changed since: every manifest, and every file that it depends on, must still bear the stamp it had.
import { sha256Hex } from '../../base/digest.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { readOwnBytes, writeOwnBytes } from '../own-cache.ts';
import { bodyOf, type CheckedFile, type CheckedTool, type Dependency } from './checked-file.ts';
import { type FileStamp, stampAt } from './pack-files.ts';

/** A pack's folder, and the one that its schemas stay below. */
interface PackPlace {
  readonly folder: string;
  readonly root: string;
}

/** To be counted up whenever a manifest that was good would now be read otherwise or refused. */
const FORMAT = 5;

/**
 * A file that changed so shortly before it was read may change again without a new stamp: clocks of file systems tick
 * slowly. It is not kept, and looked at again next time.
 */
const UNSETTLED_MS = 2_000;

const NOTHING_SAID: CheckedFile['diagnostics'] = [];

/** The manifests among these, which are sorted, that are known and did not change; in the order of their ids. */
export function readPackCache(
  cacheFolder: string,
  place: PackPlace,
  manifests: readonly string[],
): CheckedFile[] {
  const known: CheckedFile[] = [];
  const bytes = readOwnBytes(cacheFolder, nameOf(place), FORMAT);
  const kept = bytes && decodeKept(bytes);
  if (kept?.folder !== keyOf(place)) return known;
  const { paths, ids, depends, sizes } = kept;
  const isListed = lookUp(manifests, paths.slice(0, ids.length));
  const fresh = paths.map((path, at) => isFresh(kept, at, stampAt(place.folder, path)));
  let body = kept.start;
  let next = 0;
  for (let at = 0; at < ids.length; at++) {
    const first = next + 1;
    next = first + (depends[next] as number);
    let good = fresh[at] && isListed(paths[at] as string);
    for (let one = first; good && one < next; one++) good = fresh[depends[one] as number] as boolean;
    const start = body;
    body += sizes[at] as number;
    if (good) known.push(new KeptFile(kept, at, { start, first, next }));
  }
  return known;
}

/** Nearly always both are the same: comparing them costs a tenth of a table. */
function lookUp(listed: readonly string[], kept: string[]): (path: string) => boolean {
  kept.sort();
  if (kept.length === listed.length && kept.every((path, at) => path === listed[at])) return () => true;
  const table = new Set(listed);
  return (path) => table.has(path);
}

/** A manifest and its tool as one small object: there may be ten thousand of them, and most are only listed. */
class KeptFile implements CheckedFile, CheckedTool {
  readonly path: string;
  readonly ids: CheckedTool['ids'];
  readonly start: number;
  private readonly kept: Kept;
  private readonly at: number;
  private readonly first: number;
  private readonly next: number;

  constructor(kept: Kept, at: number, { start, first, next }: Record<'start' | 'first' | 'next', number>) {
    const ids = kept.ids[at] as string;
    this.path = kept.paths[at] as string;
    this.ids = ids.includes(' ') ? (ids.split(' ') as [string, ...string[]]) : [ids];
    this.start = start;
    this.kept = kept;
    this.at = at;
    this.first = first;
    this.next = next;
  }
  get tool(): CheckedTool {
    return this;
  }
  get end(): number {
    return this.start + (this.kept.sizes[this.at] as number);
  }
  get bytes(): Buffer {
    return this.kept.bytes;
  }
  get digest(): string {
    return this.kept.digests.slice(this.at * DIGEST, (this.at + 1) * DIGEST);
  }
  get diagnostics(): CheckedFile['diagnostics'] {
    return this.kept.diagnostics[this.path] ?? NOTHING_SAID;
  }
  made(): { readonly stamp: FileStamp; readonly depends: readonly Dependency[] } {
    const { paths, depends } = this.kept;
    return {
      stamp: stampOf(this.kept, this.at) as FileStamp,
      depends: Array.from(depends.subarray(this.first, this.next), (one) => ({
        path: paths[one] as string,
        stamp: stampOf(this.kept, one),
      })),
    };
  }
}

/** `readAt` is when the first of them was read. */
export function writePackCache(
  cacheFolder: string,
  place: PackPlace,
  checked: readonly CheckedFile[],
  readAt: number,
): void {
  const settled = ({ path, stamp }: Dependency): boolean =>
    canKeep(path) && (stamp === null || stamp.ctimeMs < readAt - UNSETTLED_MS);
  const good = checked.flatMap((file) => {
    const { path, tool, diagnostics } = file;
    const from = tool && file.made?.();
    if (!from) return [];
    const own: Dependency = { path, stamp: from.stamp };
    return [own, ...from.depends].every(settled) ? [{ own, depends: from.depends, tool, diagnostics }] : [];
  });
  if (good.length === 0) return;
  // In the order in which they will be listed.
  good.sort((a, b) => (firstId(a.tool) < firstId(b.tool) ? -1 : 1));
  const files = good.map(({ own }) => own);
  const places = new Map<string, number>();
  const placeOf = (one: Dependency): number => {
    const at = places.get(one.path) ?? files.push(one) - 1;
    places.set(one.path, at);
    return at;
  };
  const depends = Uint32Array.from(good.flatMap((one) => [one.depends.length, ...one.depends.map(placeOf)]));
  const tools = good.map(({ tool }) => tool as CheckedTool);
  const said = good.filter(({ diagnostics }) => diagnostics.length > 0);
  const kept = {
    folder: keyOf(place),
    paths: files.map(({ path }) => path),
    stamps: Float64Array.from(files.flatMap(numbersOf)),
    ids: tools.map(({ ids }) => ids.join(' ')),
    digests: tools.map(({ digest }) => digest).join(''),
    depends,
    sizes: Uint32Array.from(tools, ({ start, end }) => end - start),
    diagnostics: Object.fromEntries(said.map(({ own, diagnostics }) => [own.path, diagnostics])),
  };
  writeOwnBytes(cacheFolder, nameOf(place), FORMAT, encodeKept(kept, tools.map(bodyOf)));
}

function isFresh({ stamps }: Kept, at: number, now: FileStamp | null | undefined): boolean {
  const from = at * 4;
  if (!now) return now === null && stamps[from] === ABSENT;
  return (
    now.size === stamps[from] &&
    now.mtimeMs === stamps[from + 1] &&
    now.ctimeMs === stamps[from + 2] &&
    now.ino === stamps[from + 3]
  );
}

function stampOf({ stamps }: Kept, at: number): FileStamp | null {
  const [size = ABSENT, mtimeMs = 0, ctimeMs = 0, ino = 0] = stamps.subarray(at * 4, at * 4 + 4);
  return size === ABSENT ? null : { size, mtimeMs, ctimeMs, ino };
}

const firstId = (tool: CheckedTool | undefined): string => tool?.ids[0] ?? '';

const numbersOf = ({ stamp }: Dependency): number[] =>
  stamp ? [stamp.size, stamp.mtimeMs, stamp.ctimeMs, stamp.ino] : [ABSENT, 0, 0, 0];

/** What was good below a larger root may not be below a smaller one. */
const keyOf = ({ folder, root }: PackPlace): string => (root === folder ? folder : `${folder}\0${root}`);

const nameOf = (place: PackPlace): string => sha256Hex(keyOf(place)).slice(0, 32);

/** What is kept of a pack. */
interface Kept {
  /** The pack's folder. */
  readonly folder: string;
  /** Every file that matters; the manifests come first, in the order of the tools. */
  readonly paths: readonly string[];
  /** Four numbers for each of them, and `ABSENT` where nothing was there. */
  readonly stamps: Float64Array;
  /** Of each tool: its own id, and those of its actions behind it, with spaces between. */
  readonly ids: readonly string[];
  /** One behind the other. */
  readonly digests: string;
  /** Of each tool: how many files it depends on, and then their positions in `paths`; the tools follow each other. */
  readonly depends: Uint32Array;
  /** The sizes of the bodies, which follow each other from `start` on. */
  readonly sizes: Uint32Array;
  readonly bytes: Buffer;
  readonly start: number;
  /** Of manifests that something was said about, by path. */
  readonly diagnostics: { readonly [path: string]: readonly Diagnostic[] };
}

interface Head extends Pick<Kept, 'folder' | 'diagnostics'> {
  readonly tools: number;
  readonly files: number;
  readonly texts: number;
  readonly depends: number;
}

/** The first number of the stamp of what was not there. */
const ABSENT = -1;
/** The length of a digest. */
const DIGEST = 64;

/** Names that could not be told apart again are not kept. */
const canKeep = (path: string): boolean => !path.includes('\n');

function encodeKept(kept: Omit<Kept, 'bytes' | 'start'>, bodies: readonly Uint8Array[]): Uint8Array[] {
  const { folder, diagnostics, paths, ids, digests, stamps, sizes, depends } = kept;
  const texts = Buffer.from([...paths, ...ids, digests].join('\n'));
  const head: Head = {
    folder,
    tools: ids.length,
    files: paths.length,
    texts: texts.length,
    depends: depends.length,
    diagnostics,
  };
  const numbers = [stamps, sizes, depends].map(
    (column) => new Uint8Array(column.buffer, column.byteOffset, column.byteLength),
  );
  return [Buffer.from(`${JSON.stringify(head)}\n`), texts, ...numbers, ...bodies];
}

/** Undefined where the bytes are not what was written. */
function decodeKept(bytes: Buffer): Kept | undefined {
  try {
    const end = bytes.indexOf('\n');
    const { folder, diagnostics, ...head } = JSON.parse(bytes.toString('utf8', 0, end)) as Head;
    let start = end + 1;
    const take = (length: number): Buffer => {
      start += length;
      return bytes.subarray(start - length, start);
    };
    const texts = take(head.texts).toString('utf8').split('\n');
    const stamps = new Float64Array(copyOf(take(head.files * 4 * 8)));
    const sizes = new Uint32Array(copyOf(take(head.tools * 4)));
    const depends = new Uint32Array(copyOf(take(head.depends * 4)));
    const paths = texts.slice(0, head.files);
    const ids = texts.slice(head.files, head.files + head.tools);
    const digests = texts[head.files + head.tools] ?? '';
    const whole =
      start + sizes.reduce((sum, size) => sum + size, 0) === bytes.length &&
      digests.length === head.tools * DIGEST;
    return whole
      ? { folder, diagnostics, paths, stamps, ids, digests, depends, sizes, bytes, start }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Columns of numbers must begin where numbers may. */
function copyOf(bytes: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.length);
  new Uint8Array(copy).set(bytes);
  return copy;
}
