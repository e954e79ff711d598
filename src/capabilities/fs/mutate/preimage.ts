// Owns: what is at a place before it changes: its state, and its bytes in the object store; and how many of a call's reads and
// writes are under way at once.
// Refuses: more bytes than undo may keep, and a file that changes while it is read.
import { type BigIntStats, closeSync, constants, fstatSync, read, readlinkSync } from 'node:fs';
import { createSha256, sha256Hex } from '../../../base/digest.ts';
import { parentOf } from '../../../base/rel-path.ts';
import type { CallScope } from '../../../contract/capability.ts';
import { fail } from '../../../contract/errors.ts';
import type { ObjectId } from '../../../contract/object-store.ts';
import { openLocated } from '../beneath.ts';
import { readLocated } from '../read-file.ts';
import type { Located, Place } from '../root.ts';
import { cannot, modeOf, nameIn, osFailure, ownerIn, release, sameThing } from '../root.ts';
import { locateExactly } from './pins.ts';
import type { Before, Look, PlannedEntry } from './view.ts';

export interface PreImages {
  /** Of an entry that the view showed. Folders are known by their mode only. */
  take(place: Place, seen: Look): Promise<Before>;
  /** The hash of a file, as `expectedSha256` and `undo` compare it. */
  hash(place: Place, stat: BigIntStats): Promise<ObjectId>;
  /** Resolves once all that was taken is on disk. Whoever takes one knows its hash before. */
  kept(): Promise<void>;
}

/** Up to here a file is read at once; a larger one passes through in pieces. */
const AT_ONCE = 1024 * 1024;

/** Of so many nobody waits until they are stored: they become durable together with the intent. */
const AHEAD = 16;

/** `keep`: for undo. `hash`: everything is looked at and counted, and nothing is kept. `count`: nor is any content read. */
export type PreImageUse = 'keep' | 'hash' | 'count';

export function createPreImages(scope: CallScope, limit: Limit, verb: string, use: PreImageUse): PreImages {
  const { keep, maxBytes } = scope.undo;
  const store = use === 'keep';
  const underWay: Promise<unknown>[] = [];
  let total = 0;

  const keepBytes = async (bytes: Uint8Array): Promise<void> => {
    const stored = scope.objects.put(bytes);
    // Awaited by `kept`; until then a failure must not count as unhandled.
    stored.catch(() => undefined);
    underWay.push(stored);
    if (underWay.length > AHEAD) await stored;
  };

  const account = (place: Place, size: number) => {
    total += size;
    if (!keep || total <= maxBytes) return;
    const needs = `${cannot({ ...place, verb })}: undoing it would need ${total} bytes`;
    throw fail('undo.too_large', `${needs}, over undo.max_bytes ${maxBytes}`, {
      size: total,
      max_bytes: maxBytes,
    });
  };

  const takeFile = (place: Place, stat: BigIntStats): Promise<Before> => {
    account(place, Number(stat.size));
    if (use === 'count') return Promise.resolve({ state: null, stored: false });
    return limit(async () => {
      const object = await consume(place, stat, verb, scope, keep && store ? keepBytes : undefined);
      const state = {
        type: 'file',
        object,
        size: Number(stat.size),
        mode: modeOf(stat),
        ...ownerIn(stat),
      } as const;
      return { state, stored: keep };
    });
  };

  return {
    async take(place, seen) {
      if (seen.is === 'nothing') return { state: null, stored: true };
      if (seen.is === 'planned') return takePlanned(seen, keep && store ? keepBytes : undefined);
      if (seen.type === 'file') return takeFile(place, seen.stat);
      const owner = ownerIn(seen.stat);
      if (seen.type === 'dir')
        return { state: { type: 'dir', mode: modeOf(seen.stat), ...owner }, stored: true };
      return { state: { type: 'link', target: targetOf(place, verb), ...owner }, stored: true };
    },
    hash: (place, stat) => limit(() => consume(place, stat, verb, scope, undefined)),
    kept: async () => void (await Promise.all(underWay)),
  };
}

type KeepBytes = (bytes: Uint8Array) => Promise<void>;

/** What an earlier edit of the same mutation puts there may have to be restored, too. */
async function takePlanned(
  { state, content }: PlannedEntry,
  keepBytes: KeepBytes | undefined,
): Promise<Before> {
  if (content && 'bytes' in content) await keepBytes?.(content.bytes);
  const stored =
    !content || 'target' in content || 'object' in content || ('bytes' in content && !!keepBytes);
  // A copy gets its state when it is staged, which is after this.
  return {
    get state() {
      return state();
    },
    stored,
  };
}

export function targetOf(place: Place, verb: string): string {
  const folder = locateExactly({ root: place.root, rel: parentOf(place.rel) }, verb);
  if (!folder) throw osFailure(Object.assign(new Error(), { code: 'ENOENT' }), { ...place, verb });
  try {
    return readlinkSync(`${folder.path}/${nameIn(place.rel)}`);
  } catch (thrown) {
    throw osFailure(thrown, { ...place, verb });
  } finally {
    release(folder);
  }
}

/** Reads the file once: hashes it, and keeps it when asked to. */
async function consume(
  place: Place,
  stat: BigIntStats,
  verb: string,
  scope: CallScope,
  keepBytes: KeepBytes | undefined,
) {
  const found = locateExactly(place, verb);
  if (!found || !sameThing(stat, found.stat)) {
    if (found) release(found);
    throw changed(place, verb);
  }
  try {
    const { id, after } = await (stat.size <= AT_ONCE ? consumeAtOnce : consumePieces)(
      found,
      scope,
      keepBytes,
    );
    if (!isSameVersion(stat, after)) throw changed(place, verb);
    return id;
  } finally {
    release(found);
  }
}

interface Consumed {
  readonly id: ObjectId;
  /** What the file was after it was read. */
  readonly after: BigIntStats;
}

/** Hashed twice, here and in the store, which takes less time than waiting for the store to sync it. */
async function consumeAtOnce(
  found: Located,
  scope: CallScope,
  keepBytes: KeepBytes | undefined,
): Promise<Consumed> {
  const { bytes, stat: after } = await readLocated(found, { signal: scope.signal });
  await keepBytes?.(bytes);
  return { id: `sha256:${sha256Hex(bytes)}`, after };
}

async function consumePieces(
  found: Located,
  scope: CallScope,
  keepBytes: KeepBytes | undefined,
): Promise<Consumed> {
  const fd = openLocated(found, constants.O_RDONLY, 'read');
  try {
    const id = await (keepBytes ? stored(fd, scope) : hashed(fd, scope));
    return { id, after: fstatSync(fd, { bigint: true }) };
  } finally {
    closeSync(fd);
  }
}

async function stored(fd: number, { objects, signal }: CallScope): Promise<ObjectId> {
  return (await objects.putStream(pieces(fd, signal))).id;
}

async function hashed(fd: number, { signal }: CallScope): Promise<ObjectId> {
  const hash = createSha256();
  for await (const piece of pieces(fd, signal)) hash.update(piece);
  return `sha256:${hash.hex()}`;
}

/** Each piece has its own memory: who takes one may keep it. */
export async function* pieces(fd: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const buffer = Buffer.allocUnsafeSlow(AT_ONCE);
    const got = await new Promise<number>((resolve, reject) => {
      read(fd, buffer, 0, AT_ONCE, position, (error, count) => (error ? reject(error) : resolve(count)));
    });
    if (got === 0) return;
    position += got;
    yield buffer.subarray(0, got);
  }
}

/** The same thing with the same content, as far as the system can tell without reading. */
export function isSameVersion(a: BigIntStats, b: BigIntStats): boolean {
  return sameThing(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && a.mode === b.mode;
}

export function changed(place: Place, verb: string) {
  return fail('file.conflict', `${cannot({ ...place, verb })}: somebody else changed it meanwhile`);
}

export type Limit = <T>(job: () => Promise<T>) => Promise<T>;

/** Runs at most `most` jobs at a time; the others wait their turn. */
export function createLimit(most: number): Limit {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (job) => {
    if (running >= most) await new Promise<void>((turn) => queue.push(turn));
    else running++;
    try {
      return await job();
    } finally {
      // A waiting job takes over the place of this one.
      const next = queue.shift();
      if (next) next();
      else running--;
    }
  };
}
