// Owns: which of the machine's own paths every program sees, read-only, which nobody can ever ask for, and the /etc that programs
// see: what they need to start, to tell the time and to check certificates.
// Refuses: `/`, homes, sockets, devices, /sys and /run, accounts, name servers, keys and credentials. What is not named here or by
// the caller is not there.
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';

/** bubblewrap's words for the programs and libraries of this machine. /etc is made by `createEtc`. */
export function systemWords(): string[] {
  return ROOTS.flatMap((path) => {
    const stat = ignoreErrors(() => lstatSync(path));
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

/** Inside everybody is this user; outside it is `HostIdentity.uid`. */
export const INSIDE_ID = 1000;

export const INSIDE_HOME = '/home/haft';

/**
 * Fills a folder to be shown as /etc, and answers with bubblewrap's words for it. Small files are copied once: every
 * bind costs each program a tenth of a millisecond, and twenty of them were a quarter of its start.
 */
export function createEtc(folder: string): string[] {
  mkdirSync(folder);
  for (const [name, text] of Object.entries(WRITTEN)) writeFileSync(join(folder, name), text);
  for (const name of COPIED) {
    const size = ignoreErrors(() => statSync(`/etc/${name}`))?.size ?? Number.POSITIVE_INFINITY;
    if (size > MAX_COPY) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    ignoreErrors(() => copyFileSync(`/etc/${name}`, join(folder, name)));
  }
  const bound = BOUND.filter((name) => {
    const stat = ignoreErrors(() => statSync(`/etc/${name}`));
    if (!stat) return false;
    const at = join(folder, name);
    mkdirSync(stat.isDirectory() ? at : dirname(at), { recursive: true });
    if (!stat.isDirectory()) writeFileSync(at, '');
    return true;
  });
  openUp(folder);
  return [
    '--ro-bind',
    folder,
    '/etc',
    ...bound.flatMap((name) => ['--ro-bind', `/etc/${name}`, `/etc/${name}`]),
  ];
}

const MAX_COPY = 2 ** 18;

const WRITTEN: Readonly<Record<string, string>> = {
  passwd: `haft:x:${INSIDE_ID}:${INSIDE_ID}:Haft:${INSIDE_HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
  group: `haft:x:${INSIDE_ID}:\nnogroup:x:65534:\n`,
  hosts: '127.0.0.1 localhost haft\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
};

const COPIED = ['localtime', 'magic', 'mime.types', 'protocols', 'services', 'ssl/openssl.cnf', 'timezone'];

/** Folders, and the one file that changes whenever a library is installed. */
const BOUND = [
  'alternatives',
  'crypto-policies',
  'fonts',
  'java-17-openjdk',
  'java-21-openjdk',
  'ld.so.cache',
  'php',
  'pki/ca-trust',
  'pki/tls/certs',
  'ssl/certs',
];

/** Readable by whoever the sandbox's user is, whatever this process's umask says. */
function openUp(folder: string): void {
  const parents = new Set([...COPIED, ...BOUND, ...Object.keys(WRITTEN)].map((name) => dirname(name)));
  for (const name of [...parents, 'pki', ...BOUND]) ignoreErrors(() => chmodSync(join(folder, name), 0o755));
  for (const name of [...Object.keys(WRITTEN), ...COPIED])
    ignoreErrors(() => chmodSync(join(folder, name), 0o444));
}
