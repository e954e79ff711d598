// Owns: running a script of ours as root or as an ordinary user, with an environment and, where asked, a network of its own.
// Refuses: to need a tree that everybody may read: an ordinary user gets a copy where it cannot read this one.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Ran } from './haft.ts';

export type Who = 'root' | 'nobody' | 'self';

/** As whom things are tried: root tries as an ordinary user too; anybody else only as themselves. */
export const WHO: readonly Who[] = process.getuid?.() === 0 ? ['root', 'nobody'] : ['self'];

/** Addresses that a network of one's own has beside loopback, none of which leads anywhere. */
export const ADDRESSES = {
  public: '93.184.216.34',
  metadata: '169.254.169.254',
  private: '10.9.8.7',
} as const;

/** Where they look for programs. */
export const pathOf = (who: Who): string =>
  who === 'nobody' ? '/usr/local/bin:/usr/bin:/bin' : (process.env.PATH ?? '');

export interface ApartOptions {
  /** A network of its own, with `ADDRESSES`, every port open to everybody, and names asked at 127.0.0.1. Needs root. */
  readonly network?: boolean;
  /** Mounts of its own, which end with it; only root can make any. */
  readonly mounts?: boolean;
  /** A descriptor that the script gets as its fd 3 and that its children would inherit. */
  readonly leak?: number;
  readonly env?: Readonly<Record<string, string>>;
  onLine?(line: string): void;
}

export interface Place {
  /** Runs a script of this repository to its end. */
  run(who: Who, script: string, args: readonly string[], options?: ApartOptions): Promise<Ran>;
  close(): void;
}

const ROOT = join(import.meta.dirname, '../../..');
const NOBODY = '65534';
const BECOME = ['setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--inh-caps=-all', '--'];

export function makePlace(): Place {
  const here = { root: ROOT, node: process.execPath };
  const readable =
    spawnSync(BECOME[0]!, [...BECOME.slice(1), here.node, '-e', CAN_READ, ROOT], { cwd: '/' }).status === 0;
  const copy = WHO.includes('nobody') && !readable ? copyTree() : undefined;
  const network = mkdtempSync(join(tmpdir(), 'haft-network-'));
  chmodSync(network, 0o755);
  writeFileSync(join(network, 'resolv.conf'), 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
  writeFileSync(join(network, 'nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
  return {
    run(who, script, args, options = {}) {
      const tree = who === 'nobody' && copy ? copy : here;
      const file = join(tree.root, relative(ROOT, script));
      const command = [
        ...(options.network ? ['unshare', '-n', '-m', 'sh', '-c', OWN_NETWORK, network] : []),
        ...(options.mounts && who === 'root' ? ['unshare', '-m'] : []),
        ...(who === 'nobody' ? BECOME : []),
        ...[tree.node, '--disable-warning=ExperimentalWarning', file, ...args],
      ];
      return start(command, who, options);
    },
    close() {
      rmSync(network, { recursive: true });
      if (copy) rmSync(copy.root, { recursive: true });
    },
  };
}

/** Everything the sources load must be readable on the whole way down. */
const CAN_READ = `for (const file of ['src/index.ts', 'test/e2e/support/apart.ts', 'node_modules/unbash/package.json'])
  require('fs').readFileSync(process.argv[1] + '/' + file)`;

/** Only loopback is ever reached, whatever the address. */
const OWN_NETWORK = `
ip link set lo up || exit 90
for address in ${ADDRESSES.public}/32 ${ADDRESSES.metadata}/32 ${ADDRESSES.private}/32; do
  ip address add "$address" dev lo || exit 90
done
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start || exit 90
[ ! -e /etc/resolv.conf ] || mount --bind "$0/resolv.conf" /etc/resolv.conf || exit 90
mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf || exit 90
exec "$@"`;

function start(command: readonly string[], who: Who, options: ApartOptions): Promise<Ran> {
  const [program = '', ...args] = command;
  // An ordinary user has no home here, and nothing that makes this a child of the running test.
  const { CI = '', HAFT_STRESS = '', HOME = '/' } = process.env;
  const usual = { PATH: pathOf(who), HOME: who === 'nobody' ? '/nonexistent' : HOME };
  const child = spawn(program, args, {
    cwd: '/',
    env: { ...usual, CI, HAFT_STRESS, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', ...(options.leak === undefined ? [] : [options.leak])],
  });
  let stdout = '';
  let stderr = '';
  let line = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const lines = (line + text).split('\n');
    line = lines.pop()!;
    for (const one of lines) options.onLine?.(one);
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });
}

/** The sources, what they load from node_modules, and this Node.js. */
function copyTree(): { readonly root: string; readonly node: string } {
  const root = mkdtempSync(join(tmpdir(), 'haft-copy-'));
  chmodSync(root, 0o755);
  for (const name of ['src', 'test', 'package.json'])
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
  };
  for (const [path, { dev, optional }] of Object.entries(packages)) {
    if (path.startsWith('node_modules/') && !dev && !optional)
      cpSync(join(ROOT, path), join(root, path), { recursive: true });
  }
  const node = join(root, 'node');
  copyFileSync(process.execPath, node);
  spawnSync('chmod', ['-R', 'a+rX', root]);
  return { root, node };
}
