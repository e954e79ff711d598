// Owns: walking the audit window by window, and the rows of it that are in segments, read as the table's rows are.
// Refuses: to write; archive-audit.ts does.
import type { StatementSync } from 'node:sqlite';
import { fail } from '../../contract/errors.ts';
import { AUDIT_COLUMNS, HASH, SEQ, type StoredRow } from '../audit-row.ts';
import type { Connection } from './connection.ts';
import { decodeLines, readLines, readLinesSync, type Segment, type SegmentProblem } from './segment-file.ts';

export interface AuditSegments {
  readonly folder: string;
  /** Within a read or a transaction: the last row that is in a segment, and the hash after it; undefined where there is none. */
  end(): Segment | undefined;
  /** Within a read: those that hold rows of this range, in order. */
  within(from: number, to: number): readonly Segment[];
  /** Rows of the range, verified against the segment. Those of segments without one of `words` are left out. */
  rows(from: number, to: number, words?: readonly string[]): Promise<readonly StoredRow[]>;
  /** At once, and only for what cannot wait. Undefined where it cannot be read. */
  hashOf(seq: number): string | undefined;
}

const END = 'SELECT * FROM audit_segments ORDER BY first DESC LIMIT 1';
const WITHIN = 'SELECT * FROM audit_segments WHERE first <= ? AND last >= ? ORDER BY first';

/** Segments whose rows are remembered: questions come page by page. */
const REMEMBERED = 2;

export function createAuditSegments(connection: Connection, folder: string): AuditSegments {
  const known = new Map<string, readonly StoredRow[]>();
  const within = (from: number, to: number) =>
    connection.sql(WITHIN).all(to, from) as unknown as readonly Segment[];

  const decode = async (segment: Segment, words: readonly string[]): Promise<readonly StoredRow[]> => {
    const remembered = known.get(segment.file);
    if (remembered) return remembered;
    const text = await readLines(folder, segment);
    if (!words.every((word) => text.includes(inLine(word)))) return [];
    const rows: StoredRow[] = [];
    for (const batch of decodeLines(text, segment)) {
      for (const row of batch) rows.push(row);
      await breathe();
    }
    known.set(segment.file, rows);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value!);
    return rows;
  };

  return {
    folder,
    end: () => connection.sql(END).get() as unknown as Segment | undefined,
    within,
    async rows(from, to, words = []) {
      const found: StoredRow[] = [];
      for (const segment of await connection.read(() => within(from, to))) {
        try {
          for (const row of await decode(segment, words)) {
            if ((row[SEQ] as number) >= from && (row[SEQ] as number) <= to) found.push(row);
          }
        } catch (thrown) {
          throw isProblem(thrown)
            ? fail('audit.broken', `Cannot read the audit: ${named(segment)}: ${thrown.message}`)
            : thrown;
        }
      }
      return found;
    },
    hashOf(seq) {
      const [segment] = within(seq, seq);
      if (!segment) return undefined;
      if (segment.first === seq) return segment.first_hash;
      if (segment.last === seq) return segment.hash;
      for (const batch of decodeLines(readLinesSync(folder, segment), segment)) {
        const row = batch.find((one) => one[SEQ] === seq);
        if (row) return row[HASH] as string;
      }
      return undefined;
    },
  };
}

/** As it stands in a line, within its quotes. */
const inLine = (word: string): string => JSON.stringify(word).slice(1, -1);

export const named = ({ file, first, last }: Segment): string =>
  `segment .haft/audit/${file} (rows ${first} to ${last})`;

export const isProblem = (thrown: unknown): thrown is SegmentProblem =>
  (thrown as { name?: unknown }).name === 'SegmentProblem';

const COLUMNS = Object.keys(AUDIT_COLUMNS)
  .map((name) => `audit.${name}`)
  .join(', ');

/** The columns as `StoredRow` wants them. */
export function selectRows(connection: Connection, rest: string): StatementSync {
  const statement = connection.sql(`SELECT ${COLUMNS} FROM audit ${rest}`);
  statement.setReturnArrays(true);
  return statement;
}

export function fetchRows(statement: StatementSync, ...values: (string | number)[]): StoredRow[] {
  return statement.all(...values) as unknown as StoredRow[];
}

export const WINDOW = 2000;

/** Ranges of `seq` that cover everything from `first` to `last`, from the front or from the back. */
export function* windows(
  first: number,
  last: number,
  backwards = false,
): Generator<readonly [number, number]> {
  if (backwards) {
    for (let to = last; to >= first; to -= WINDOW) yield [Math.max(first, to - WINDOW + 1), to];
  } else {
    for (let from = first; from <= last; from += WINDOW) yield [from, Math.min(last, from + WINDOW - 1)];
  }
}

/** Lets calls in between two windows. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
