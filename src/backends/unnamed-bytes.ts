// Owns: what the processes of a container hold on a disk without a name: files that were removed while they are open.
// Refuses: certainty: processes come and go while it reads, and where /proc may not be read it finds nothing.
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Bytes of nameless files on the disk of `folder` that the process and its descendants have open. */
export function unnamedBytes(folder: string, initPid: number): number {
  const disk = quietly(() => statSync(folder).dev);
  const found = new Map<number, number>();
  for (const pid of descendants(initPid)) {
    for (const fd of quietly(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = quietly(() => statSync(`/proc/${pid}/fd/${fd}`));
      if (file?.isFile() && file.nlink === 0 && file.dev === disk) found.set(file.ino, file.blocks * 512);
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Whoever loses its parent in a container becomes a child of its first process. */
function descendants(root: number): number[] {
  const found = [root];
  for (let i = 0; i < found.length; i++) {
    for (const thread of quietly(() => readdirSync(`/proc/${found[i]}/task`)) ?? []) {
      const children = quietly(() => readFileSync(`/proc/${found[i]}/task/${thread}/children`, 'utf8')) ?? '';
      for (const child of children.split(' ')) if (child) found.push(Number(child));
    }
  }
  return found;
}

function quietly<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
