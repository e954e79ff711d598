// Owns: a folder on a file system with a journal, for what is measured of durable writes.
// Refuses: to measure how ext4 without a journal looks for inodes: past every one that was freed in the last minutes, so that
// what ran before decides the figure.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './fixtures.ts';

const IMAGE_BYTES = 4 * 2 ** 30;

/** A fresh folder; where the temporary folder is on ext4 without a journal, and this is root, on an ext4 in a file. */
export function makeJournaledFolder(): string {
  const folder = makeFolder();
  if (process.getuid?.() !== 0 || !lacksJournal()) return folder;
  const image = join(folder, 'image');
  const mounted = join(folder, 'mounted');
  writeFileSync(image, '');
  truncateSync(image, IMAGE_BYTES);
  mkdirSync(mounted);
  run('mkfs.ext4', ['-q', image]);
  run('mount', ['-o', 'loop', image, mounted]);
  process.once('exit', () => spawnSync('umount', ['--lazy', mounted]));
  const fresh = join(mounted, 'workspace');
  mkdirSync(fresh);
  return fresh;
}

/** What the kernel says of every mounted ext4; with several of them, one without is reason enough. */
function lacksJournal(): boolean {
  try {
    return readdirSync(EXT4)
      .filter((name) => name !== 'features')
      .some((device) => readFileSync(join(EXT4, device, 'journal_task'), 'utf8').trim() === '<none>');
  } catch {
    return false;
  }
}

const EXT4 = '/sys/fs/ext4';

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}`);
}
