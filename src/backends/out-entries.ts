// Owns: walking out/ without following anything: what each entry is, how large, and whether it can be looked at.
// Refuses: to judge; who may write what is for its callers.
import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';

export interface OutEntry {
  /** Below out/, with slashes; bytes that are no UTF-8 show as U+FFFD. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'special' | 'unreadable';
  /** How long it is, with what is sparse in it; 0 for what is no file. */
  readonly bytes: number;
  /** What it takes on the disk: more than `bytes` where space was set aside. */
  readonly taken: number;
}

/** Folders before what is in them. What vanishes meanwhile is left out. */
export async function* outEntries(out: string): AsyncGenerator<OutEntry> {
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    const folder = below === '' ? out : `${out}/${below}`;
    const entries = await attempt(readdir(folder, { withFileTypes: true }) as Promise<Dirent[]>);
    if (entries === 'gone') continue;
    if (entries === 'unreadable') {
      yield { path: below || '.', kind: 'unreadable', bytes: 0, taken: 0 };
      continue;
    }
    for (const { name } of entries) {
      const path = below === '' ? name : `${below}/${name}`;
      const stats = await attempt(lstat(`${out}/${path}`));
      if (stats === 'gone') {
        // A name that is no UTF-8 cannot be asked for by the text that stands for it.
        if (name.includes('\ufffd')) yield { path, kind: 'unreadable', bytes: 0, taken: 0 };
        continue;
      }
      if (stats === 'unreadable') {
        yield { path, kind: 'unreadable', bytes: 0, taken: 0 };
        continue;
      }
      const kind = kindOf(stats);
      if (kind === 'folder') waiting.push(path);
      yield { path, kind, bytes: kind === 'file' ? stats.size : 0, taken: stats.blocks * 512 };
    }
  }
}

function kindOf(stats: Stats): OutEntry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'special';
}

async function attempt<T extends object>(action: Promise<T>): Promise<T | 'gone' | 'unreadable'> {
  try {
    return await action;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'unreadable';
  }
}
