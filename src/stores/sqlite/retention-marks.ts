// Owns: how far cleaning up has come: numbers that only grow, kept in the database.
// Refuses: to decide how far it should go.
import type { Connection } from './connection.ts';

type Mark =
  /** The row up to which pre-images were given up. */
  | 'given_up'
  /** The row up to which pre-images are listed in the table `preimages`. */
  | 'listed';

/** As a value of SQL. */
export const GIVEN_UP = "coalesce((SELECT CAST(value AS INTEGER) FROM retention WHERE name = 'given_up'), 0)";

const READ = 'SELECT value FROM retention WHERE name = ?';
const WRITE = `INSERT INTO retention (name, value) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
const FORGET = 'DELETE FROM retention WHERE name = ?';

export const readMark = (connection: Connection, mark: Mark): number =>
  Number(readText(connection, mark) ?? 0);

/** Within a transaction; never back. */
export function raiseMark(connection: Connection, mark: Mark, to: number): void {
  if (to > readMark(connection, mark)) writeText(connection, mark, String(to));
}

export const readText = (connection: Connection, name: string): string | undefined =>
  connection.sql(READ).get(name)?.value as string | undefined;

export function writeText(connection: Connection, name: string, value: string | undefined): void {
  if (value === undefined) connection.sql(FORGET).run(name);
  else connection.sql(WRITE).run(name, value);
}
