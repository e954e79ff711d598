// Owns: which version of the tables a database has, and how it is used.
// Refuses: a database of a later version, or one that is not Haft's; it would rather not start than guess.
import { fail } from '../../contract/errors.ts';
import type { Connection } from './connection.ts';

/** 'Haft' in ASCII; tells our database from any other SQLite file. */
export const APPLICATION_ID = 0x48616674;

/** Of the newest migration: those are text that only a database of an older version needs. */
export const SCHEMA_VERSION = 11;

/** Whether the tables are up to date; migrate-schema.ts brings them there. May find the database locked by another process. */
export function openSchema(connection: Connection): boolean {
  // NORMAL leaves out the sync of every commit (wal-sync.ts makes that up for what must be durable) but keeps those that
  // guard the database against a torn log. Folding the log in is the checkpointer's work; at 4000 pages (16 MiB) SQLite
  // does what is left of it by itself, so that the log has a bound.
  connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000');
  return versionOf(connection) === SCHEMA_VERSION;
}

export function versionOf(connection: Connection): number {
  const { user_version: version } = connection.sql('PRAGMA user_version').get() as { user_version: number };
  if (version > SCHEMA_VERSION)
    throw fail(
      'store.newer',
      `Cannot open the state: it is of version ${version}, and this Haft knows up to ${SCHEMA_VERSION}; update Haft`,
    );
  const { application_id: application } = connection.sql('PRAGMA application_id').get() as {
    application_id: number;
  };
  if (application !== APPLICATION_ID && !isEmpty(connection))
    throw fail(
      'store.corrupt',
      'Cannot open the state: haft.db is not a Haft database; move it aside and Haft starts a new one',
    );
  return version;
}

function isEmpty(connection: Connection): boolean {
  return connection.sql('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}
