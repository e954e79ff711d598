// Owns: rows of the audit as a compressed file: how they are written, durably, and read back with the chain recomputed.
// Refuses: to keep what follows from the rest: number, prev and hash of a row are computed from the rows themselves.
import { fstatSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type * as Zlib from 'node:zlib';
import { sha256Hex } from '../../base/digest.ts';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { HASH, hashRow, misfit, PREV, SEQ, type StoredRow } from '../audit-row.ts';
import { isAlive } from '../process-identity.ts';
import { NO_WAIT, syncFolder, withFile, writeSynced } from '../state-files.ts';
import type { TimeSlice } from './time-slice.ts';

/** A line of the table `audit_segments`. */
export interface Segment {
  readonly first: number;
  readonly last: number;
  readonly prev: string;
  readonly first_hash: string;
  readonly hash: string;
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
}

const FORMAT = 'haft-audit-segment/v1';

/** Measured on 4096 rows: 19 is a tenth smaller than 9 and takes six times as long. */
const LEVEL = 9;

/** Rows that are written or read at once. */
const BATCH = 256;

/**
 * Bytes that one step of the thread pool gives, of compressing and of the reverse: each step waits for a turn of the event loop.
 * With the 16 KiB of Node a segment took 115 turns to be read back.
 */
const PACKED_CHUNK = 512 * 1024;
const TEXT_CHUNK = 4 * 1024 * 1024;

/** Loaded on first use: most processes never read a segment. */
const zlib = (): typeof Zlib => process.getBuiltinModule('node:zlib');

/** Text: a line about the whole, then one line for each row: its columns without number, prev and hash. */
export async function writeText(rows: readonly StoredRow[], slice: TimeSlice): Promise<string> {
  const [first, last] = [rows[0]!, rows.at(-1)!];
  const about = { format: FORMAT, first: first[SEQ], last: last[SEQ], prev: first[PREV], hash: last[HASH] };
  const lines = [JSON.stringify(about)];
  for (const [i, row] of rows.entries()) {
    lines.push(JSON.stringify(row.slice(1, PREV)));
    if (i % BATCH === 0) await slice.pause();
  }
  return lines.join('\n');
}

/**
 * Written beside its place, synced and moved there. Its name holds the digest of its bytes: nobody can write another under it.
 * Only what waits for the disk, or computes for long, goes to the thread pool: while it is full of calls each step there waits
 * for all of them (measured: 50 ms each with 64 calls at a time).
 */
export async function writeSegment(
  folder: string,
  rows: readonly StoredRow[],
  text: string,
  process: string,
): Promise<Segment> {
  const { zstdCompress, constants: levels } = zlib();
  const params = { [levels.ZSTD_c_compressionLevel]: LEVEL };
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    zstdCompress(text, { params, chunkSize: PACKED_CHUNK }, (error, done) =>
      error ? reject(error) : resolve(done),
    );
  });
  const sha256 = sha256Hex(bytes);
  const [first, last] = [rows[0]!, rows.at(-1)!];
  const file = `${String(first[SEQ]).padStart(12, '0')}-${String(last[SEQ]).padStart(12, '0')}-${sha256.slice(0, 16)}.zst`;
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `${process}~${Math.random().toString(36).slice(2)}~${file}`);
  try {
    await writeSynced(temporary, bytes);
    renameSync(temporary, join(folder, file));
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw thrown;
  }
  await syncFolder(folder);
  if (made !== undefined) await syncFolder(join(folder, '..'));
  return {
    first: first[SEQ] as number,
    last: last[SEQ] as number,
    prev: first[PREV] as string,
    first_hash: first[HASH] as string,
    hash: last[HASH] as string,
    file,
    sha256,
    size: bytes.length,
  };
}

/** Half of a file that a dead process was writing. A whole one stays, also where no record names it: it may be all there is of its rows. */
export function removeStray(folder: string): void {
  for (const name of namesIn(folder)) {
    if (name.includes('~') && !isAlive(name.split('~')[0]!)) rmSync(join(folder, name), { force: true });
  }
}

export const removeSegment = (folder: string, { file }: Segment): void =>
  rmSync(join(folder, file), { force: true });

const namesIn = (folder: string): readonly string[] => ignoreErrors(() => readdirSync(folder)) ?? [];

/** Whether it is there, as it was written. */
export function isThere(folder: string, { file, size }: Segment): boolean {
  const stat = lstatSync(join(folder, file), { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.size === size;
}

/** Why a segment cannot be read; thrown as is, and said in words by whoever reads. */
export class SegmentProblem extends Error {
  override readonly name = 'SegmentProblem';
}

/** The lines of a segment, uncompressed: the first is about the whole. */
export async function readLines(folder: string, segment: Segment): Promise<string> {
  const bytes = readBytes(folder, segment);
  return new Promise((resolve, reject) => {
    zlib().zstdDecompress(bytes, LIMIT, (error, text) =>
      error ? reject(new SegmentProblem('it cannot be decompressed')) : resolve(text.toString('utf8')),
    );
  });
}

/** The same at once, for the one look that cannot wait. */
export const readLinesSync = (folder: string, segment: Segment): string =>
  zlib().zstdDecompressSync(readBytes(folder, segment), LIMIT).toString('utf8');

/** More than any segment of ours. */
const LIMIT = { maxOutputLength: 2 ** 29, chunkSize: TEXT_CHUNK };

function readBytes(folder: string, { file, sha256, size }: Segment): Buffer {
  let bytes: Buffer | undefined;
  try {
    bytes = withFile(join(folder, file), NO_WAIT, (descriptor) => {
      const stat = fstatSync(descriptor);
      return stat.isFile() && stat.size === size ? readFileSync(descriptor) : undefined;
    });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    throw new SegmentProblem(code === 'ENOENT' ? 'the file is missing' : `it cannot be read (${code})`);
  }
  if (!bytes || sha256Hex(bytes) !== sha256)
    throw new SegmentProblem('its bytes are not those that were written');
  return bytes;
}

/** Rows, a few at a time, each with its number and the hashes that follow from it. */
export function* decodeLines(text: string, segment: Segment): Generator<readonly StoredRow[]> {
  const [about = '', ...lines] = text.split('\n');
  const { format, first } = parsed(about) as { format?: unknown; first?: unknown };
  if (format !== FORMAT || first !== segment.first) throw new SegmentProblem('it holds other rows');
  if (lines.length !== segment.last - segment.first + 1)
    throw new SegmentProblem(`it has ${lines.length} rows`);
  let prev = segment.prev;
  for (let at = 0; at < lines.length; at += BATCH) {
    yield lines.slice(at, at + BATCH).map((line, i) => {
      const row: StoredRow = [segment.first + at + i, ...(parsed(line) as StoredRow), prev, ''];
      if (row.length !== HASH + 1 || misfit(row) !== undefined)
        throw new SegmentProblem(`row ${row[SEQ]} in it is not as rows are written`);
      prev = hashRow(row);
      row[HASH] = prev;
      return row;
    });
  }
  if (prev !== segment.hash) throw new SegmentProblem('its rows do not lead to the hash that follows them');
}

function parsed(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new SegmentProblem('it is not as segments are written');
}
