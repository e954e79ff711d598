// Owns: everything below a folder, hidden and ignored things too, and a fingerprint of it all.
// Refuses: to read content, to follow links, and to take a tree for whole when a part of it cannot be read.
import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { sha256Hex } from '../../base/digest.ts';
import { enterFolder, leaveFolder, type PinnedFolder, readFolder } from './child-folder.ts';
import { type EntryType, typeOf } from './located.ts';
import { isTempName } from './temp-name.ts';

export interface TreeEntry {
  /** From the top folder, which is not among the entries. */
  readonly rel: string;
  readonly type: EntryType;
  readonly stat: BigIntStats;
  /** Of a link. */
  readonly target?: string;
}

const SLICE = 10;

/** Parents before their children, in bytewise order, without the names that `skips`. Throws what the system throws. */
export async function treeEntries(
  top: PinnedFolder,
  signal?: AbortSignal,
  skips: (name: string) => boolean = () => false,
): Promise<TreeEntry[]> {
  const entries: TreeEntry[] = [];
  let pause = Date.now() + SLICE;

  const visit = async (folder: PinnedFolder, prefix: string): Promise<void> => {
    const names = readFolder(folder);
    if (!names) throw Object.assign(new Error('unreadable'), { code: 'EACCES' });
    for (const { name } of names) {
      if (isTempName(name) || skips(name)) continue;
      const path = `${folder.path}/${name}`;
      const rel = prefix + name;
      const stat = lstatSync(path, { bigint: true });
      const type = typeOf(stat);
      entries.push(type === 'link' ? { rel, type, stat, target: readlinkSync(path) } : { rel, type, stat });
      if (type !== 'dir') continue;
      const child = enterFolder(folder, name);
      if (!child) throw Object.assign(new Error('unreadable'), { code: 'EACCES' });
      try {
        await visit(child, `${rel}/`);
      } finally {
        leaveFolder(child);
      }
    }
    if (Date.now() > pause) {
      await setImmediate();
      signal?.throwIfAborted();
      pause = Date.now() + SLICE;
    }
  };

  await visit({ path: top.path, fd: -1 }, '');
  return entries.sort((a, b) => Buffer.compare(Buffer.from(a.rel), Buffer.from(b.rel)));
}

/** Equal as long as nobody touched the tree: names, types, sizes, modes, inode numbers and times of change. */
export function fingerprint(entries: readonly TreeEntry[]): string {
  const lines = entries.map(({ rel, type, stat, target }) => {
    const size = type === 'dir' ? 0n : stat.size;
    return [rel, type, size, stat.mode, stat.ino, stat.mtimeNs, target ?? ''].join('\0');
  });
  return sha256Hex(lines.join('\0\0'));
}
