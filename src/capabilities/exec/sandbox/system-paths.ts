// Owns: which of the machine's own paths every program sees, read-only, and which nobody can ever ask for.
// Refuses: `/`, homes, sockets, devices, /sys and /run. What is not named here or by the caller is not there.
import { lstatSync, readlinkSync } from 'node:fs';
import { orUndefined } from '../../../base/or-undefined.ts';

/** bubblewrap's words for the programs and libraries of this machine. /etc is `private-etc`'s. */
export function systemWords(): string[] {
  return ROOTS.flatMap((path) => {
    const stat = orUndefined(() => lstatSync(path));
    if (!stat) return [];
    // /bin → usr/bin and the like.
    return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
}

const ROOTS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/**
 * A bind is refused when it is one of these, lies below one, or holds one. /run and /var/run hold the sockets of
 * daemons that act with root's power for whoever can connect.
 */
export const NEVER_BOUND = ['/proc', '/sys', '/dev', '/run', '/var/run', '/boot'];

/** Nor may these, or what lies below or above them, be written. */
export const NEVER_WRITABLE = ['/usr', '/etc', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Folders that are bound anyway or are the machine itself: no workspace. */
export const NEVER_WORKSPACE = [
  '/',
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/home',
  '/lib',
  '/lib64',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/sys',
  '/tmp',
  '/usr',
  '/var',
  '/var/run',
];
