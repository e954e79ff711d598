// Owns: files that are written once: durable before they are visible, and never replaced by whoever comes second; and reading such files.
// Refuses: to change what is there.
import { link, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { newId } from '../base/new-id.ts';

/** Puts a value in place as JSON, durably, unless something is there: false then. */
export async function writeOnce(path: string, value: unknown): Promise<boolean> {
  const temporary = `${path}.${newId('tmp')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(JSON.stringify(value));
      await file.sync();
    } finally {
      await file.close();
    }
    // A link, since a rename would replace what is there.
    await link(temporary, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    // A network file system may have lost the answer to a link that it made.
    return (await stat(temporary)).nlink === 2;
  } finally {
    await rm(temporary, { force: true });
    await syncFolder(dirname(path));
  }
}

/** Undefined where there is nothing. What is there but no JSON is a fault of the file system: it throws. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** More than what is shown of it, since some of that is left out. */
export const TAIL_BYTES = 8192;

export async function readTail(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return new Uint8Array();
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(TAIL_BYTES),
      0,
      TAIL_BYTES,
      Math.max(0, size - TAIL_BYTES),
    );
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
