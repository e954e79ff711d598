// Owns: one look at everything below the roots of a workspace, by names and stats alone, to be compared with a later one.
// Refuses: to follow links, to look into Haft's state or the objects of git, and to call anything the same that may have changed.
import { lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { CallScope, TreeScan } from '../../contract/capability.ts';

/** Milliseconds after which others get their turn. */
const SLICE = 10;
/** What was changed so shortly before may be changed again within the clock's granularity: its stamp equals no other. */
const SETTLED_MS = 50;

export async function scanTree({
  root,
  extraRoots,
}: Pick<CallScope, 'root' | 'extraRoots'>): Promise<TreeScan> {
  const found = new Map<string, string>();
  /** Equals nothing of another scan. */
  const unsettled = `?${process.hrtime.bigint()}`;
  let pause = Date.now() + SLICE;
  const folders = [root, ...extraRoots].map((path) => ({ path, name: path === root ? '.' : path }));
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    const entries = read(folder.path);
    if (!entries) found.set(folder.name, `d${unsettled}`);
    for (const entry of entries ?? []) {
      const path = `${folder.path}/${entry.name}`;
      const name = folder.name === '.' ? entry.name : `${folder.name}/${entry.name}`;
      if (entry.name === '.haft' || (entry.name === 'objects' && folder.path.endsWith('/.git'))) continue;
      const stamp = stampOf(path, unsettled);
      if (stamp === undefined) continue;
      found.set(name, stamp);
      if (entry.isDirectory()) folders.push({ path, name });
    }
    if (Date.now() > pause) {
      await setImmediate();
      pause = Date.now() + SLICE;
    }
  }
  return found;
}

/** Undefined where it cannot be listed, or where a name is no text. */
function read(path: string) {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.some(({ name }) => name.includes('\ufffd')) ? undefined : entries;
  } catch {
    return undefined;
  }
}

/** Undefined where nothing is there any more. A folder is the same while it is itself: its entries have stamps of their own. */
function stampOf(path: string, unsettled: string): string | undefined {
  try {
    const now = Date.now();
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    if (stat.isDirectory()) return `d${stat.dev} ${stat.ino} ${stat.mode}`;
    if (stat.ctimeMs > now - SETTLED_MS) return unsettled;
    return `${stat.ino} ${stat.size} ${stat.mode} ${stat.ctimeMs}`;
  } catch {
    return unsettled;
  }
}
