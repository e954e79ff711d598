// Owns: which of the machine's own paths every program sees, read-only, and which nobody can ever ask for.
// Refuses: `/`, homes, sockets, devices, /sys and /run. What is not named here or by the caller is not there.
import { lstatSync, readlinkSync } from 'node:fs';
import { quietly } from './quietly.ts';

/** bubblewrap's words for the system paths that this machine has. */
export function systemWords(): string[] {
  return [...ROOTS, ...ETC.map((name) => `/etc/${name}`)].flatMap((path) => {
    const stat = quietly(() => lstatSync(path));
    if (!stat) return [];
    // /bin → usr/bin and the like. A link in /etc is followed: what it leads to is what programs need.
    if (stat.isSymbolicLink() && !path.startsWith('/etc/')) return ['--symlink', readlinkSync(path), path];
    return ['--ro-bind-try', path, path];
  });
}

const ROOTS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Of /etc only what programs need to start and to check certificates; no accounts, no names, no keys. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'fonts',
  'java-17-openjdk',
  'java-21-openjdk',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'perl',
  'php',
  'pki/ca-trust',
  'pki/tls/certs',
  'protocols',
  'python3',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
];

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
