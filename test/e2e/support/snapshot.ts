// Owns: what a folder holds, entry by entry, so that a test can say that nothing in it changed.
// Refuses: to follow links and to open what is no regular file.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** One line for each entry: its name, type, mode, size, inode, time of change and content. */
export function snapshot(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return ['.', ...names].map((name) => `${name} ${describe(join(folder, name))}`);
}

/** The same for single files, which need not be there. */
export function snapshotOf(root: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${name} ${describe(join(root, name))}`);
}

function describe(path: string): string {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat) return 'nothing';
  const facts = [stat.mode.toString(8), stat.ino, stat.mtimeNs];
  if (stat.isSymbolicLink()) return [...facts, readlinkSync(path)].join(' ');
  if (!stat.isFile()) return facts.join(' ');
  return [...facts, stat.size, createHash('sha256').update(readFileSync(path)).digest('hex')].join(' ');
}
