// Owns: reading a located regular file, whole or in part, under a cap.
// Refuses: to read anything when the cap would be passed, and to decide who may read.
import { type BigIntStats, closeSync, constants, fstatSync, read, readSync } from 'node:fs';
import { fail } from '../../contract/errors.ts';
import type { MaybePromise } from '../../contract/json.ts';
import { openLocated } from './beneath.ts';
import { type Attempt, cannot, osFailure } from './path-failures.ts';
import type { Located } from './root.ts';

export interface ReadFileOptions {
  readonly maxBytes?: number | undefined;
  readonly range?: { readonly start: number; readonly end: number } | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FileBytes {
  readonly bytes: Uint8Array;
  readonly stat: BigIntStats;
}

/** Up to here a synchronous read is faster than a hop through the thread pool, and short enough for the event loop. */
export const SYNC_LIMIT = 256 * 1024;
const CHUNK = 4 * 1024 * 1024;
/** Room for what a growing file may have gained: a small one then comes in a single read, which no writer can tear. */
const SLACK = 16 * 1024;
/** A file that is being rewritten is read again, so that bytes and size belong together. */
const TURNS = 4;
const BIG = { bigint: true } as const;

/** The bytes, and what the file was when they were read. Synchronous for small files. */
export function readLocated(found: Located, options: ReadFileOptions = {}): MaybePromise<FileBytes> {
  const attempt = { root: found.root, rel: found.rel, verb: 'read' };
  const span = spanOf(attempt, found.stat, options);
  const fd = openLocated(found, constants.O_RDONLY, 'read');
  if (span.end - span.start > SYNC_LIMIT) return readInTurns(attempt, fd, options);
  let small: FileBytes | undefined;
  try {
    small = readAtOnce(fd, found.stat, span);
  } catch (thrown) {
    closeSync(fd);
    throw osFailure(thrown, attempt);
  }
  if (!small) return readInTurns(attempt, fd, options);
  closeSync(fd);
  return small;
}

interface Span {
  readonly start: number;
  readonly end: number;
  /** Without a range what was added meanwhile is read, too. */
  readonly toEnd: boolean;
}

/** Which bytes are wanted, given the file's present size. Throws when that is more than the cap. */
function spanOf(attempt: Attempt, stat: BigIntStats, options: ReadFileOptions): Span {
  const size = Number(stat.size);
  const { range, maxBytes } = options;
  if (range && (range.start > size || range.end < range.start || range.start < 0)) {
    throw fail(
      'input.range',
      `${cannot(attempt)}: bytes ${range.start} to ${range.end} lie outside of its ${size} bytes`,
      { size },
    );
  }
  const start = range?.start ?? 0;
  const end = range ? Math.min(range.end, size) : size;
  if (maxBytes !== undefined && end - start > maxBytes) throw tooLarge(attempt, end - start, size, maxBytes);
  return { start, end, toEnd: !range };
}

function tooLarge(attempt: Attempt, wanted: number, size: number, maxBytes: number) {
  const what = wanted === size ? 'it is' : 'the range is';
  return fail('file.too_large', `${cannot(attempt)}: ${what} ${wanted} bytes, over max_bytes ${maxBytes}`, {
    size,
    max_bytes: maxBytes,
  });
}

/** Undefined when the file changed while it was read, or outgrew what one synchronous read should take. */
function readAtOnce(fd: number, stat: BigIntStats, { start, end, toEnd }: Span): FileBytes | undefined {
  const length = end - start;
  // One byte more than expected tells growth without another call.
  const buffer = Buffer.allocUnsafe(toEnd ? length + 1 : length);
  const got = buffer.length === 0 ? 0 : readSync(fd, buffer, 0, buffer.length, start);
  if (got !== length) return undefined;
  const after = fstatSync(fd, BIG);
  if (!isSame(stat, after)) return undefined;
  return { bytes: buffer.subarray(0, got), stat: after };
}

async function readInTurns(attempt: Attempt, fd: number, options: ReadFileOptions): Promise<FileBytes> {
  try {
    for (let turn = 1; ; turn++) {
      const stat = fstatSync(fd, BIG);
      const bytes = await readSpan(fd, stat, attempt, options);
      const after = fstatSync(fd, BIG);
      if (isSame(stat, after) || turn === TURNS) return { bytes, stat: after };
    }
  } catch (thrown) {
    throw osFailure(thrown, attempt);
  } finally {
    closeSync(fd);
  }
}

/** Reads to the end of the span, or to the end of the file when it is shorter (or, without a range, longer) by now. */
async function readSpan(fd: number, stat: BigIntStats, attempt: Attempt, options: ReadFileOptions) {
  const { maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  const span = spanOf(attempt, stat, options);
  let buffer = Buffer.allocUnsafeSlow(span.end - span.start + (span.toEnd ? SLACK : 0));
  let filled = 0;
  for (;;) {
    signal?.throwIfAborted();
    if (filled === buffer.length) {
      if (!span.toEnd) break;
      buffer = Buffer.concat([buffer, Buffer.allocUnsafe(Math.max(buffer.length, 4096))]);
    }
    const wanted = Math.min(buffer.length - filled, CHUNK);
    const got = await readChunk(fd, buffer, filled, wanted, span.start + filled);
    if (got === 0) break;
    filled += got;
    if (filled > maxBytes) throw tooLarge(attempt, filled, filled, maxBytes);
    // Another read could find the end of another version behind this one.
    if (got < wanted && isEnd(fd, stat, span.start + filled)) break;
  }
  return buffer.subarray(0, filled);
}

/** Whether a read that got less than it asked for came to the end. Files of the kernel do not tell their size, nor that they change. */
function isEnd(fd: number, stat: BigIntStats, reached: number): boolean {
  return (stat.size > 0n && reached >= stat.size) || !isSame(stat, fstatSync(fd, BIG));
}

const isSame = (a: BigIntStats, b: BigIntStats) => a.mtimeNs === b.mtimeNs && a.size === b.size;

function readChunk(
  fd: number,
  buffer: Buffer,
  offset: number,
  length: number,
  position: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, buffer, offset, length, position, (error, got) => (error ? reject(error) : resolve(got)));
  });
}
