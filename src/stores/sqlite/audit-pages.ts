// Owns: walking the audit window by window, so that neither memory nor the event loop notices how long it is.
// Refuses: to know what the rows are looked at for.
import type { StatementSync } from 'node:sqlite';
import { AUDIT_COLUMNS, type StoredRow } from '../audit-row.ts';
import type { Connection } from './connection.ts';

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
