// Owns: the file of a client's configuration: read as text, replaced whole, with its permissions, owner and links.
// Refuses: what is not a regular file in UTF-8, links that leave the workspace, and to write over what changed meanwhile.
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { fail } from '../../../contract/errors.ts';
import { isWithin } from '../../../loader/is-within.ts';
import { withRegular } from '../../../loader/read-regular.ts';
import { readFailure, writeFailure } from '../named-path.ts';

export interface ConfigFile {
  /** As the client names it. */
  readonly path: string;
  /** Where it is, links followed. */
  readonly real: string;
  /** Undefined where there is none yet. Without a byte order mark. */
  readonly text: string | undefined;
  readonly bytes: Buffer | undefined;
  /** The folder that it must lie in, if any. */
  readonly inside: string | undefined;
}

const MARK = '\ufeff';
const MOST_BYTES = 64 * 1024 * 1024;

/** `inside`: the folder that it must lie in, whatever its links say. */
export function readConfig(path: string, inside: string | undefined): ConfigFile {
  const real = placeOf(path);
  if (inside !== undefined && !isWithin(real, inside))
    throw fail(
      'path.outside_workspace',
      `Cannot write ${shownPath(path)}: a link in it leaves the workspace`,
    );
  const bytes = bytesOf(real, path);
  const text = bytes && decode(bytes, path);
  return { path, real, bytes, inside, text: text?.startsWith(MARK) ? text.slice(1) : text };
}

/** Undefined takes the file away, and a folder of the workspace where nothing else is in it. */
export function replaceConfig(file: ConfigFile, text: string | undefined): void {
  try {
    if (text === undefined) return remove(file);
    write(file, decode(file.bytes ?? Buffer.of(), file.path).startsWith(MARK) ? MARK + text : text);
  } catch (thrown) {
    throw writeFailure(thrown, file.path);
  }
}

/** With `~` for the user's own folder. */
export function shownPath(path: string): string {
  const home = homedir();
  return home !== '/' && path !== home && isWithin(path, home) ? `~${path.slice(home.length)}` : path;
}

/** Where the path leads. What is not there yet is named below the nearest folder that is. */
function placeOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw readFailure(thrown, shownPath(path));
    if (lstatSync(path, { throwIfNoEntry: false }))
      throw fail(
        'path.not_found',
        `Cannot write ${shownPath(path)}: it is a link to a file that is not there`,
      );
    return join(placeOf(dirname(path)), basename(path));
  }
}

function bytesOf(real: string, path: string): Buffer | undefined {
  try {
    return withRegular(real, (descriptor, { size }) => {
      if (size > MOST_BYTES)
        throw fail('file.too_large', `Cannot read ${shownPath(path)}: it is over ${MOST_BYTES} bytes`);
      return readFileSync(descriptor);
    });
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTREG')
      throw fail('path.not_regular', `Cannot read ${shownPath(path)}: it is not a regular file`);
    throw readFailure(thrown, shownPath(path));
  }
}

function decode(bytes: Buffer, path: string): string {
  const text = ignoreErrors(() => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  if (text === undefined) throw fail('input.encoding', `Cannot edit ${shownPath(path)}: it is not UTF-8`);
  return text;
}

function write(file: ConfigFile, text: string): void {
  const { real, bytes } = file;
  const folder = dirname(real);
  mkdirSync(folder, { recursive: true });
  const part = join(folder, `.${basename(real)}.${randomUUID()}.part`);
  const descriptor = openSync(part, 'wx', 0o600);
  try {
    try {
      writeFileSync(descriptor, text);
      keepOwner(file, descriptor);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    checkUnchanged(file);
    // A file that somebody made meanwhile stays.
    if (bytes) renameSync(part, real);
    else linkSync(part, real);
  } finally {
    rmSync(part, { force: true });
  }
  syncFolder(folder);
}

/** A new file is as the umask says. */
function keepOwner({ real, bytes, path }: ConfigFile, descriptor: number): void {
  if (!bytes) return fchmodSync(descriptor, 0o666 & ~process.umask());
  accessSync(real, constants.W_OK);
  const { mode, uid, gid } = lstatSync(real);
  const own = fstatSync(descriptor);
  try {
    if (own.uid !== uid || own.gid !== gid) fchownSync(descriptor, uid, gid);
  } catch {
    throw fail('file.not_kept', `Cannot write ${shownPath(path)}: its owner could not be kept`);
  }
  fchmodSync(descriptor, mode & 0o7777);
}

function remove(file: ConfigFile): void {
  checkUnchanged(file);
  // Behind a link the file stays, empty, so that the link leads somewhere.
  if (file.real !== placeOfFolder(file.path)) return write(file, '');
  accessSync(file.real, constants.W_OK);
  rmSync(file.real);
  const folder = dirname(file.real);
  if (file.inside !== undefined && folder !== file.inside) ignoreErrors(() => rmdirSync(folder));
}

const placeOfFolder = (path: string): string => join(placeOf(dirname(path)), basename(path));

function checkUnchanged({ real, path, bytes }: ConfigFile): void {
  const now = bytesOf(real, path);
  if (bytes ? !now?.equals(bytes) : now)
    throw fail('file.conflict', `Cannot write ${shownPath(path)}: it changed meanwhile; try again`);
}

function syncFolder(folder: string): void {
  ignoreErrors(() => {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
}
