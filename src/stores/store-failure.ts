// Owns: what an error of SQLite or of the file system below it means in the words of the error table.
// Refuses: to show a path of the machine; the state folder is named as the workspace knows it.
import { type Failure, fail, isFailure, type Reason } from '../contract/errors.ts';

interface Meaning {
  readonly reason: Reason;
  readonly fact: string;
}

const DAMAGED: Meaning = {
  reason: 'store.corrupt',
  fact: 'the database is damaged or is no Haft database; move the state folder aside (keep it as evidence) and Haft starts a new one',
};
const UNWRITABLE: Meaning = {
  reason: 'store.unwritable',
  fact: 'the state folder or a file in it cannot be written; check its owner, its permissions and that the disk is not read-only',
};
const FULL: Meaning = { reason: 'file.no_space', fact: 'the disk is full; free some space and try again' };
const BROKEN_IO: Meaning = { reason: 'file.io', fact: 'the disk reported an input or output error' };
const BUSY: Meaning = { reason: 'store.busy', fact: 'another process kept the database locked for too long' };

/** By primary result code: https://sqlite.org/rescode.html. */
const BY_SQLITE_CODE: Readonly<Record<number, Meaning>> = {
  3: UNWRITABLE, // SQLITE_PERM
  5: BUSY, // SQLITE_BUSY
  6: BUSY, // SQLITE_LOCKED
  8: UNWRITABLE, // SQLITE_READONLY
  10: BROKEN_IO, // SQLITE_IOERR
  11: DAMAGED, // SQLITE_CORRUPT
  13: FULL, // SQLITE_FULL
  14: UNWRITABLE, // SQLITE_CANTOPEN
  15: BUSY, // SQLITE_PROTOCOL
  26: DAMAGED, // SQLITE_NOTADB
};

/** By `code` of the errors that Node throws. */
const BY_NODE_CODE: Readonly<Record<string, Meaning>> = {
  EACCES: UNWRITABLE,
  EPERM: UNWRITABLE,
  EROFS: UNWRITABLE,
  ENOENT: UNWRITABLE,
  ENOTDIR: UNWRITABLE,
  EEXIST: UNWRITABLE,
  ENOSPC: FULL,
  EDQUOT: FULL,
  EIO: BROKEN_IO,
  ERR_OUT_OF_RANGE: DAMAGED, // an integer that Haft never wrote
};

/** The failure to throw instead of `thrown`; what is nobody's fault but ours stays as it is. */
export function toFailure(thrown: unknown, action: string): unknown {
  const meaning = isFailure(thrown) ? undefined : meaningOf(thrown);
  return meaning ? explain(meaning, action, thrown) : thrown;
}

/** Someone else holds the lock; trying again may help. */
export function isBusy(thrown: unknown): boolean {
  return meaningOf(thrown) === BUSY;
}

function meaningOf(thrown: unknown): Meaning | undefined {
  if (!(thrown instanceof Error)) return undefined;
  const { code, errcode } = thrown as Error & { code?: unknown; errcode?: unknown };
  if (typeof errcode === 'number') return BY_SQLITE_CODE[errcode & 0xff];
  return typeof code === 'string' ? BY_NODE_CODE[code] : undefined;
}

function explain(meaning: Meaning, action: string, cause: unknown): Failure {
  return Object.assign(fail(meaning.reason, `${action}: ${meaning.fact}`), { cause });
}
