// Owns: the usual read in the fewest system calls that prove it: a small regular file, reached without a link.
// Refuses: every other case, and every doubt: the caller then takes the long way, which also says what is wrong.
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { O_NOFOLLOW, O_NONBLOCK } from './open-flags.ts';
import type { FileBytes } from './read-file.ts';
import { absolute, isOnOurMount, type Root } from './root.ts';

const FLAGS = constants.O_RDONLY | constants.O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
const BIG = { bigint: true } as const;
const QUIET = { throwIfNoEntry: false } as const;

/** `rel` is normalised. Undefined is no answer about the file: ask `locate` and `readLocated`. */
export function readDirect(root: Root, rel: string, mostBytes: number): FileBytes | undefined {
  const named = absolute(root, rel);
  // The kernel marks what was removed by this suffix, so such a name proves nothing.
  if (!root.exact || named.endsWith(' (deleted)')) return undefined;
  let fd: number | undefined;
  try {
    // Before opening: opening a device may have an effect.
    const seen = lstatSync(named, QUIET);
    if (!seen?.isFile() || seen.size > mostBytes) return undefined;
    fd = openSync(named, FLAGS);
    if (readlinkSync(`/proc/self/fd/${fd}`) !== named) return undefined;
    // Directly below the root no folder lies between that could be a link into another mount namespace.
    if (rel.includes('/') && !isOnOurMount(root, fd)) return undefined;
    // One byte more than expected tells growth without another call.
    const buffer = Buffer.allocUnsafe(seen.size + 1);
    const got = readSync(fd, buffer, 0, buffer.length, 0);
    const stat = fstatSync(fd, BIG);
    if (!stat.isFile() || got !== seen.size || Number(stat.size) !== got) return undefined;
    return { bytes: buffer.subarray(0, got), stat };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
