// Owns: a lock with one pack put in, taken out or in its place.
// Refuses: to touch any other pack.
import type { LockFile } from '../../contract/lock.ts';

/** `pins` holds that pack alone; undefined takes it out. */
export function replacePack(lock: LockFile, name: string, pins: LockFile | undefined): LockFile {
  const { [name]: _, ...packs } = lock.packs;
  const others = Object.entries(lock.tools).filter(([, tool]) => tool.pack !== name);
  return {
    version: 1,
    packs: { ...packs, ...pins?.packs },
    tools: { ...Object.fromEntries(others), ...pins?.tools },
  };
}
