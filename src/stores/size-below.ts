// Owns: how large a folder is, with everything below it.
// Refuses: to follow a link, and to fail where something goes away meanwhile.
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes of all files; 0 where nothing is there. */
export async function sizeBelow(path: string): Promise<number> {
  const stat = await lstat(path).catch(() => undefined);
  if (!stat) return 0;
  if (!stat.isDirectory()) return stat.size;
  let sum = 0;
  for (const name of await readdir(path).catch(() => [])) sum += await sizeBelow(join(path, name));
  return sum;
}
