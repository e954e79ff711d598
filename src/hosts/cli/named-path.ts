// Owns: paths that a person named on the command line: what keeps Haft from reading or writing there, in one set of words.
// Refuses: to make parent folders: a misspelt path would become a new tree.
import { randomUUID } from 'node:crypto';
import { constants, lstatSync, readdirSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Failure, fail, isFailure, type Reason } from '../../contract/errors.ts';

/** Of what could not be read. Failures of the table pass through as they are. */
export function readFailure(thrown: unknown, path: string): Failure {
  if (isFailure(thrown)) return thrown;
  const errno = errnoOf(thrown);
  const { fact } = factOf(errno);
  return fail(BROKEN.has(errno) ? 'file.io' : 'usage', `Cannot read ${shown(path)}: ${fact}`, { errno });
}

/** Of what could not be made at `path`, after `checkNew`. What is not about that place stays as it is. */
export function writeFailure(thrown: unknown, path: string): unknown {
  const cause = isFailure(thrown) ? thrown.cause : thrown;
  if (isFailure(thrown) && !isAbout(cause, path)) return thrown;
  const errno = errnoOf(cause);
  // A file system such as /proc says so where it takes no new names.
  const { reason, fact } = errno === 'ENOENT' && isFolder(dirname(path)) ? NO_NEW_NAMES : factOf(errno);
  return cannotWrite(path, reason, fact, errno);
}

/** Throws unless something new can have this name: its folder is there, and nothing else has it (but an empty folder, if that may be). */
export function checkNew(path: string, { orEmpty = false } = {}): void {
  const parent = dirname(path);
  try {
    if (!statSync(parent).isDirectory())
      throw cannotWrite(path, 'path.not_directory', FACTS.ENOTDIR!.fact, 'ENOTDIR');
  } catch (thrown) {
    if (isFailure(thrown)) throw thrown;
    const errno = errnoOf(thrown);
    const { reason, fact } = errno === 'ENOENT' ? NO_FOLDER : factOf(errno);
    throw cannotWrite(path, reason, fact, errno);
  }
  let isThere: boolean;
  try {
    const found = lstatSync(path || '.', { throwIfNoEntry: false });
    isThere = found !== undefined && !(orEmpty && found.isDirectory() && readdirSync(path).length === 0);
  } catch (thrown) {
    throw writeFailure(thrown, path);
  }
  if (isThere) throw cannotWrite(path, 'path.exists', FACTS.EEXIST!.fact, 'EEXIST');
}

/** A file whose parts can be read in any order. */
export async function openNamed(path: string): Promise<FileHandle> {
  try {
    const found = statSync(path);
    if (found.isDirectory()) throw fail('usage', `Cannot read ${shown(path)}: ${FACTS.EISDIR!.fact}`);
    // Opening a pipe would wait for who writes to it.
    if (!found.isFile())
      throw fail('usage', `Cannot read ${shown(path)}: it is no regular file; save it as one first`);
    return await open(path, constants.O_RDONLY);
  } catch (thrown) {
    throw readFailure(thrown, path);
  }
}

interface Fact {
  readonly reason: Reason;
  readonly fact: string;
}

const NO_FOLDER: Fact = {
  reason: 'path.not_found',
  fact: 'its folder is not there; make it first, or name another place',
};
const NO_NEW_NAMES: Fact = {
  reason: 'path.denied_by_os',
  fact: 'nothing can be made in its folder; name another place',
};
const DENIED = 'permission denied; check who owns it and its permissions';

const FACTS: { readonly [errno: string]: Fact } = {
  ENOENT: { reason: 'path.not_found', fact: 'there is no such file; check the path' },
  ENOTDIR: { reason: 'path.not_directory', fact: 'a part of its path is a file, not a folder' },
  EISDIR: { reason: 'path.is_directory', fact: 'it is a directory; name a file' },
  EEXIST: { reason: 'path.exists', fact: 'something is already there; name another place' },
  ENOTEMPTY: { reason: 'path.exists', fact: 'something is already there; name another place' },
  ENAMETOOLONG: {
    reason: 'path.invalid',
    fact: 'the name is too long for the file system; take a shorter one',
  },
  ELOOP: { reason: 'path.invalid', fact: 'its links lead in a circle' },
  EINVAL: { reason: 'path.invalid', fact: 'the file system does not take this name' },
  EILSEQ: { reason: 'path.invalid', fact: 'the file system does not take this name' },
  ERR_INVALID_ARG_VALUE: { reason: 'path.invalid', fact: 'the path has a NUL byte' },
  EACCES: { reason: 'path.denied_by_os', fact: DENIED },
  EPERM: { reason: 'path.denied_by_os', fact: DENIED },
  EBUSY: { reason: 'path.denied_by_os', fact: 'the system is using it; name another place' },
  ENXIO: { reason: 'path.not_regular', fact: 'it is no regular file' },
  ENODEV: { reason: 'path.not_regular', fact: 'it is no regular file' },
  EROFS: { reason: 'file.read_only', fact: 'the file system is read-only; name another place' },
  ENOSPC: { reason: 'file.no_space', fact: 'the disk is full; free some space and try again' },
  EDQUOT: { reason: 'file.no_space', fact: 'the disk quota is used up; free some space and try again' },
  EFBIG: { reason: 'file.no_space', fact: 'the file system does not take a file of this size' },
};

/** Not what the person named, but the machine below it. */
const BROKEN: ReadonlySet<string> = new Set(['EIO', 'EMFILE', 'ENFILE', 'ENOMEM']);

const factOf = (errno: string): Fact =>
  FACTS[errno] ?? { reason: 'file.io', fact: `the operating system reports ${errno}` };

const cannotWrite = (path: string, reason: Reason, fact: string, errno: string): Failure =>
  fail(reason, `Cannot write ${shown(path)}: ${fact}`, { errno });

/** Long enough to know it again. */
const shown = (path: string): string => (path.length > 120 ? `${path.slice(0, 120)}…` : path);

function errnoOf(thrown: unknown): string {
  const { code } = thrown as NodeJS.ErrnoException;
  if (typeof code !== 'string') throw thrown;
  return code;
}

/** Whether the system said it of this place, rather than of what was to come there. */
function isAbout(cause: unknown, path: string): boolean {
  const { path: from, dest } = (cause ?? {}) as { readonly path?: unknown; readonly dest?: unknown };
  const place = resolve(path);
  return [from, dest].some(
    (one) => typeof one === 'string' && (one === place || one.startsWith(`${place}/`)),
  );
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** A new file, under another name until it is whole. Answers its size. */
export async function writeNew(file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  checkNew(file);
  // Of writing alone: what keeps the content from being made is said as it is.
  const told = <T>(work: Promise<T>): Promise<T> =>
    work.catch((thrown: unknown) => {
      throw writeFailure(thrown, file);
    });
  const openNew = (path: string) =>
    told(open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644));
  const part = join(dirname(file), `.haft-${randomUUID()}.part`);
  // Taken first: of two who want the same name one is told so before the work.
  const name = await openNew(file);
  try {
    const handle = await openNew(part);
    let size = 0;
    try {
      for await (const piece of pieces) {
        await told(handle.write(piece));
        size += piece.length;
      }
      await told(handle.sync());
    } finally {
      await handle.close();
    }
    await told(rename(part, file));
    return size;
  } catch (thrown) {
    await rm(part, { force: true });
    await rm(file, { force: true });
    throw thrown;
  } finally {
    await name.close();
  }
}
