// Owns: a process that swaps folders and files of a workspace for links to the outside and back, as fast as it can.
// Refuses: to outlive the test that started it.
// usage: swapper.ts WORKSPACE OUTSIDE
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface Swapper {
  /** Lets everything be where it belongs, for good. */
  pause(): Promise<void>;
  /** Ends it and answers how often it swapped. */
  stop(): Promise<number>;
}

/** Where folders and files are while a link stands in for them. */
export const PARKED = '.parked';

/** What is swapped: a folder, a file in it, and a folder above others. The outside has the same names. */
export const SWAPPED = { folder: 'd', file: 'd/f0', above: 'top/mid' } as const;

export async function startSwapper(root: string, outside: string): Promise<Swapper> {
  const child = spawn(process.execPath, [import.meta.filename, root, outside], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return {
    async pause() {
      const paused = once(child, 'message');
      child.send('pause');
      await paused;
    },
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<number> {
  if (child.exitCode !== null) throw new Error(`the swapper ended by itself with ${child.exitCode}`);
  let count = 0;
  child.once('message', (swaps: number) => {
    count = swaps;
  });
  const closed = once(child, 'close');
  child.send('stop');
  await closed;
  return count;
}

function main(root: string, outside: string): void {
  const parked = `${root}/${PARKED}`;
  mkdirSync(parked);
  let swaps = 0;

  const swap = (name: string, target: string) => {
    const path = `${root}/${name}`;
    const aside = `${parked}/${name.replaceAll('/', '-')}`;
    if (!tries(() => renameSync(path, aside))) return;
    if (tries(() => symlinkSync(target, path))) swaps++;
    tries(() => unlinkSync(path));
    // A call may have made something of this name meanwhile, or taken the folder above, and may still be at it.
    for (let turn = 0; !tries(() => renameSync(aside, path)); turn++) {
      tries(() => rmSync(path, { recursive: true, force: true }));
      tries(() => mkdirSync(dirname(path), { recursive: true }));
      if (turn === 10_000) throw new Error(`${name} cannot be put back`);
    }
  };
  const turn = () => {
    for (let i = 0; i < 50 && wish === undefined; i++) {
      swap(SWAPPED.folder, `${outside}/d`);
      swap(SWAPPED.file, `${outside}/d/f0`);
      swap(SWAPPED.above, `../../${basename(outside)}`);
      swap(SWAPPED.file, `/proc/self/root${outside}/d/f0`);
      swap(SWAPPED.folder, `/proc/self/root${outside}/d`);
    }
    if (wish === undefined) return setImmediate(turn);
    process.send!(swaps, () => wish === 'stop' && process.disconnect());
  };
  let wish: string | undefined;
  process.on('message', (message: string) => {
    // Who pauses no longer takes turns, so the last one is told here.
    const paused = wish !== undefined;
    wish = message;
    if (paused) turn();
  });
  process.on('disconnect', () => process.exit(0));
  process.send!(0);
  turn();
}

function tries(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) main(process.argv[2]!, process.argv[3]!);
