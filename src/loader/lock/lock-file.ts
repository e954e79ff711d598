// Owns: `haft.lock` in the workspace: read whole, replaced whole.
// Refuses: a link in its place: it would be another's file.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { LockFile } from '../../contract/lock.ts';
import { readRegularText } from '../read-regular.ts';
import { parseLock, renderLock } from './lock-text.ts';

const NAME = 'haft.lock';

/** Undefined where there is none: then nothing is pinned. Throws `lockfile.invalid`. */
export function readLockFile(workspace: string): LockFile | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(
      join(workspace, NAME),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw fail('lockfile.invalid', 'Cannot read haft.lock: it is a link');
    throw fail('lockfile.invalid', `Cannot read haft.lock: the system reports ${code}`);
  }
  try {
    if (!fstatSync(descriptor).isFile())
      throw fail('lockfile.invalid', 'Cannot read haft.lock: it is not a regular file');
    return parseLock(readFileSync(descriptor, 'utf8'));
  } finally {
    closeSync(descriptor);
  }
}

/** SHA-256 of it in Haft's own spelling, or of its bytes where it cannot be read as one; null where there is none. */
export function lockDigest(workspace: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(
      join(workspace, NAME),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return 'unreadable';
  }
  try {
    if (!fstatSync(descriptor).isFile()) return 'unreadable';
    const text = readFileSync(descriptor, 'utf8');
    return sha256Hex(respelled(text));
  } catch {
    return 'unreadable';
  } finally {
    closeSync(descriptor);
  }
}

function respelled(text: string): string {
  try {
    return renderLock(parseLock(text));
  } catch {
    return text;
  }
}

/** Answers whether it was another before. */
export function writeLockFile(workspace: string, lock: LockFile): boolean {
  const file = join(workspace, NAME);
  const text = renderLock(lock);
  if (readText(file) === text) return false;
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    rmSync(temporary, { force: true });
    const descriptor = openSync(temporary, 'wx', 0o644);
    try {
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, file);
    return true;
  } catch (thrown) {
    rmSync(temporary, { force: true });
    const { code } = thrown as NodeJS.ErrnoException;
    throw fail('path.denied_by_os', `Cannot write haft.lock: the system reports ${code}`);
  }
}

function readText(file: string): string | undefined {
  try {
    return lstatSync(file).isFile() ? readRegularText(file) : undefined;
  } catch {
    return undefined;
  }
}
