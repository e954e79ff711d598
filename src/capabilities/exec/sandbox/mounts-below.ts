// Owns: which mounts there are in a folder, as a process sees them, so that two views of it can be compared.
// Refuses: to go by names alone: what is mounted below something that is covered is not to be seen there.
import { closeSync, openSync, readFileSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';

/** As this process sees all mounts; other text means that something was mounted or unmounted. */
export const mountTable = (): string => orUndefined(() => readFileSync('/proc/self/mountinfo', 'utf8')) ?? '';

/** Everything mounted in this folder, and what the folder itself lies on, one line each; equal for equal views. */
export function mountsBelow(path: string, table = mountTable()): string {
  const on = orUndefined(() => mountIdOf(path));
  return on === undefined ? '' : describe(parseMounts(table), on, path);
}

/** The same, in another process, of a folder that is a mount there. */
export function mountsAt(pid: number, path: string): string {
  const mounts = parseMounts(orUndefined(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8')) ?? '');
  const on = mounts.findLast(({ at }) => at === path);
  return on ? describe(mounts, on.id, path) : '';
}

export interface Mount {
  readonly id: string;
  readonly parent: string;
  readonly device: string;
  /** What of the device is mounted. */
  readonly root: string;
  readonly at: string;
  readonly writable: boolean;
}

/** Linux, where alone there are sandboxes: a descriptor that only marks a place. */
export const O_PATH = 0o10000000;

export function parseMounts(table: string): Mount[] {
  return table.split('\n').flatMap((line) => {
    const [id, parent, device, root, at, options] = line.split(' ');
    return id && parent && device && root && at && options
      ? [{ id, parent, device, root: unescaped(root), at: unescaped(at), writable: /^rw\b/.test(options) }]
      : [];
  });
}

/** The table tells bytes that would disturb it by their numbers. */
const unescaped = (text: string): string =>
  text.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));

function describe(mounts: readonly Mount[], on: string, path: string): string {
  const lines = [mounts.find(({ id }) => id === on)?.device ?? ''];
  const visit = (parent: string): void => {
    for (const mount of mounts) {
      if (mount.parent !== parent || mount.id === parent || !isWithin(mount.at, path)) continue;
      lines.push(JSON.stringify([mount.at.slice(path.length), mount.device, mount.root]));
      visit(mount.id);
    }
  };
  visit(on);
  return lines.sort().join('\n');
}

function mountIdOf(path: string): string | undefined {
  const fd = openSync(path, O_PATH);
  try {
    return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
  } finally {
    closeSync(fd);
  }
}
