// Owns: what of an attempt's folder belongs to its container: who may read in/ and write out/, and that it has not begun.
// Refuses: to touch the bytes of an input.
import { chmod, chown, lstat, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptEnd } from '../../contract/backend.ts';
import { RUN_USER } from '../../contract/run-environment.ts';
import { readJson, writeOnce } from '../write-once.ts';

export const attemptFiles = (folder: string) => ({
  out: join(folder, 'out'),
  log: join(folder, 'meta/log'),
  end: join(folder, 'meta/end.json'),
  cancel: join(folder, 'meta/cancel.json'),
  reserve: join(folder, 'meta/reserve'),
  /** That the disk was full once: what was written then may be cut off, whatever the disk is like later. */
  diskFull: join(folder, 'meta/disk-full'),
});

/** The first end that is recorded is the end, whoever records it. Answers that one. */
export async function recordEnd(folder: string, end: AttemptEnd): Promise<AttemptEnd> {
  const files = attemptFiles(folder);
  if (end.cause === 'infrastructure.disk_full') await markDiskFull(folder);
  await writeFile(files.log, '', { flag: 'a', mode: 0o600 });
  await writeOnce(files.end, end);
  await rm(files.reserve, { force: true });
  return (await readJson<AttemptEnd>(files.end)) ?? end;
}

/** Needs no space: the reserve gets another name, and what it held is given back. */
export async function markDiskFull(folder: string): Promise<void> {
  const { reserve, diskFull } = attemptFiles(folder);
  await rename(reserve, diskFull).catch(() => {});
  await truncate(diskFull).catch(() => {});
}

const RESERVE = Buffer.alloc(64 * 1024);

/** `uid:gid` inside of the container. Ids are the same outside, and an ordinary user can only give out/ to itself. */
export function chooseUser(given?: string): string {
  if (given !== undefined) return given;
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
  return uid === 0 ? `${RUN_USER.uid}:${RUN_USER.gid}` : `${uid}:${gid}`;
}

/** Only before the container is created: the sticky bit says that the attempt has not begun. */
export async function armFolder(folder: string, user: string): Promise<void> {
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  const { out, reserve } = attemptFiles(folder);
  await writeFile(reserve, RESERVE, { mode: 0o600 });
  if ((await stat(out)).uid !== uid) await chown(out, uid, gid);
  await chmod(out, 0o1700);
  if (uid !== process.getuid?.()) await makeReadable(join(folder, 'in'));
}

/** To whoever the program runs as. A file with a second name is left as it is: the other one may be the store's. */
async function makeReadable(path: string): Promise<void> {
  const stats = await lstat(path);
  const missing = (stats.isDirectory() ? 0o555 : 0o444) & ~stats.mode;
  const ours = stats.isDirectory() || (stats.isFile() && stats.nlink === 1);
  if (ours && missing !== 0) await chmod(path, (stats.mode & 0o7777) | missing);
  if (!stats.isDirectory()) return;
  for (const name of await readdir(path)) await makeReadable(join(path, name));
}
