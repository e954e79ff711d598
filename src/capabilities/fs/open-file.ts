// Owns: a located regular file that stays open for somebody who reads it piece by piece, and the names below a folder.
// Refuses: to decide who may read; and links and devices, which no tree can hold.
import { type BigIntStats, closeSync, constants, fstatSync, read } from 'node:fs';
import type { OpenFile } from '../../contract/artifacts.ts';
import type { TreeName } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { openLocated } from './beneath.ts';
import { treeEntries } from './folder-reader.ts';
import { cannot, notAFile, osFailure } from './path-failures.ts';
import { type Located, modeOf } from './root.ts';

const OWNER_RUNS = 0o100;

export function openFile(found: Located): OpenFile {
  const attempt = { root: found.root, rel: found.rel, verb: 'open' };
  const fd = openLocated(found, constants.O_RDONLY, 'open');
  const stat: BigIntStats = fstatSync(fd, { bigint: true });
  return {
    size: Number(stat.size),
    executable: (modeOf(stat) & OWNER_RUNS) !== 0,
    ...(found.root.exact ? { clonePath: `/proc/self/fd/${fd}` } : {}),
    read: (into, position) =>
      new Promise((resolve, reject) => {
        read(fd, into, 0, into.length, position, (error, got) =>
          error ? reject(osFailure(error, attempt)) : resolve(got),
        );
      }),
    close: () => closeSync(fd),
  };
}

export async function treeNames(found: Located, signal: AbortSignal): Promise<readonly TreeName[]> {
  const attempt = { root: found.root, rel: found.rel, verb: 'read' };
  if (!found.stat.isDirectory()) {
    if (!found.stat.isFile()) throw notAFile(attempt, false);
    throw fail('path.not_directory', `${cannot(attempt)} as a folder: it is a file`);
  }
  try {
    const entries = await treeEntries({ path: found.path, fd: -1 }, signal, isLeftOut);
    return entries.map(({ rel, type }) => {
      if (type === 'file' || type === 'dir') return { path: rel, type };
      const at = { ...attempt, rel: found.rel === '.' ? rel : `${found.rel}/${rel}` };
      const what = type === 'link' ? 'a link' : 'neither a regular file nor a folder';
      throw fail('path.not_regular', `${cannot(at)}: it is ${what}, which no tree can hold`);
    });
  } catch (thrown) {
    throw osFailure(thrown, attempt);
  }
}

const isLeftOut = (name: string) => name === '.git' || name === '.haft';
