// Owns: the copies of a toolpack that its processes see: exactly the files of its digest, in places that differ.
// Refuses: to read the pack's folder, which may have changed since its digest was taken, and leaving copies behind.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PackFiles } from './pack-files.ts';

export interface Snapshot {
  readonly folder: string;
  remove(): void;
}

const PREFIX = 'haft-toolpack-';

/** `age` is how old its files look, in seconds. */
export function takeSnapshot({ files }: Pick<PackFiles, 'files'>, age: number): Snapshot {
  sweep();
  const copy = realpathSync.native(mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`)));
  try {
    for (const { path, content } of files) {
      const at = join(copy, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, content, { mode: 0o444 });
      utimesSync(at, EPOCH + age, EPOCH + age);
    }
  } catch (thrown) {
    rmSync(copy, { recursive: true, force: true });
    throw thrown;
  }
  return { folder: copy, remove: () => rmSync(copy, { recursive: true, force: true }) };
}

const EPOCH = 1_000_000_000;

/** What processes that were killed left. */
function sweep(): void {
  const own = process.getuid?.();
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split('-')[0]) : Number.NaN;
    if (!Number.isSafeInteger(pid) || pid <= 0 || isRunning(pid)) continue;
    const path = join(tmpdir(), name);
    if (statSync(path, { throwIfNoEntry: false })?.uid === own)
      rmSync(path, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
