// Owns: a workspace full of traps, a folder beside it that nobody may reach, and the paths that try.
// Refuses: to leave anything behind: sockets, descriptors, processes and both folders go.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { basename, normalize } from 'node:path';
import { PLAIN } from './path-arguments.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** In every file outside, and nowhere else. */
export const SENTINEL = 'SENTINEL-7f3a-nobody-may-read-this';

export interface HostilePath {
  readonly path: string;
  /** `outside` and `state` refuse everything; `policy` refuses writing; `special` refuses opening. */
  readonly kind: 'outside' | 'state' | 'policy' | 'special';
  /** The last name is a link: who moves or deletes it touches only the link. */
  readonly isLink?: boolean;
  /** By its names it leads back into the workspace, where a new file may be made; what it really shows is elsewhere. */
  readonly landsInside?: boolean;
}

export interface HostileWorkspace {
  readonly workspace: Workspace;
  readonly outside: Workspace;
  readonly paths: readonly HostilePath[];
  /** Puts back what a call took away lawfully: links and plain files. */
  arm(): void;
  close(): Promise<void>;
}

const POLICY = 'version: 1\n';

export async function makeHostileWorkspace(): Promise<HostileWorkspace> {
  const outside = makeWorkspace({ 'secret.txt': `${SENTINEL}\n`, 'd/f': `${SENTINEL}\n` });
  const workspace = makeWorkspace({
    'haft.yaml': POLICY,
    'haft.lock': '{}\n',
    '.git/config': '[core]\n',
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/hooks/pre-commit': '#!/bin/sh\n',
    'nested/.git/config': '[core]\n',
    'nested/file.txt': 'nested\n',
    'in/side.txt': 'inside\n',
  });
  const fd = openSync(outside.root, 'r');
  const socket = createServer().listen(workspace.path('socket'));
  await once(socket, 'listening');
  makeSpecialFiles(workspace);
  const namespace = await startOtherNamespace(workspace.root, outside.root);
  const links = linksOf(workspace.root, outside.root, fd, namespace?.pid);

  const arm = () => {
    for (const [name, target] of Object.entries(links)) {
      rmSync(workspace.path(name), { force: true, recursive: true });
      symlinkSync(target, workspace.path(name));
    }
    for (const name of Object.values(PLAIN)) rmSync(workspace.path(name), { force: true, recursive: true });
    writeFileSync(workspace.path(PLAIN.file), 'plain\n');
    mkdirSync(workspace.path(PLAIN.folder));
    writeFileSync(workspace.path(`${PLAIN.folder}/inner.txt`), 'inner\n');
  };
  arm();

  return {
    workspace,
    outside,
    arm,
    paths: [
      ...outsidePaths(workspace.root, outside.root, links),
      ...statePaths(workspace.root),
      ...policyPaths(workspace.root),
      ...SPECIAL.filter((name) => existsSync(workspace.path(name))).map((path) => ({
        path,
        kind: 'special' as const,
      })),
    ],
    async close() {
      closeSync(fd);
      socket.close();
      if (namespace) {
        const closed = once(namespace, 'close');
        namespace.stdin?.end();
        await closed;
      }
      workspace.remove();
      outside.remove();
    },
  };
}

const SPECIAL = ['fifo', 'socket', 'zero', 'block', 'in/fifo'];

/** Devices need root; FIFOs and sockets do not. */
function makeSpecialFiles(workspace: Workspace): void {
  for (const words of [
    ['fifo', 'p'],
    ['in/fifo', 'p'],
    ['zero', 'c', '1', '5'],
    ['block', 'b', '7', '250'],
  ]) {
    const [name = '', ...kind] = words;
    spawnSync('mknod', [workspace.path(name), ...kind]);
  }
  if (!lstatSync(workspace.path('fifo')).isFIFO()) throw new Error('mknod makes no FIFO');
}

/**
 * A process that sees the outside mounted over the workspace's own folder: through its `/proc/PID/root` a path reads
 * like one of ours and is none. Undefined where mounting is not permitted.
 */
async function startOtherNamespace(root: string, outside: string): Promise<ChildProcess | undefined> {
  // Ends with its standard input, so that it cannot outlive the test.
  const script = `mount --bind "$1" "$2" && echo ready && exec cat`;
  const child = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', outside, `${root}/in`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ready = await Promise.race([
    once(child.stdout!, 'data').then(() => true),
    once(child, 'close').then(() => false),
    once(child, 'error').then(() => false),
  ]);
  return ready ? child : undefined;
}

/** Links by name; `outside` is reached absolutely, relatively, in chains, through /proc, and where nothing is yet. */
function linksOf(root: string, outside: string, fd: number, pid: number | undefined): Record<string, string> {
  const beside = `../${basename(outside)}`;
  return {
    'link-file': `${outside}/secret.txt`,
    'link-file-relative': `${beside}/secret.txt`,
    'link-dir': outside,
    'link-dir-relative': beside,
    'in/deep-link': `../${beside}/d`,
    'chain-1': 'chain-2',
    'chain-2': 'in/../chain-3',
    'chain-3': outside,
    up: '..',
    top: '/',
    'proc-root': '/proc/self/root',
    'proc-root-file': `/proc/self/root${outside}/secret.txt`,
    'proc-cwd': '/proc/self/cwd',
    descriptor: `/proc/self/fd/${fd}`,
    'dev-fd': `/dev/fd/${fd}`,
    dangling: `${outside}/not-there.txt`,
    'dangling-dir': `${outside}/not-there`,
    'loop-a': 'loop-b',
    'loop-b': 'loop-a',
    'loop-self': 'loop-self',
    'device-link': '/dev/zero',
    ...(pid === undefined ? {} : { 'other-namespace': `/proc/${pid}/root${root}/in` }),
    state: '.haft',
    'state-file': '.haft/haft.db',
    'state-chain': 'state',
    'policy-link': 'haft.yaml',
    'git-link': '.git',
    'hooks-link': '.git/hooks',
  };
}

const STATE_LINKS = ['state', 'state-file', 'state-chain'];
const POLICY_LINKS = ['policy-link', 'git-link', 'hooks-link'];

function outsidePaths(root: string, outside: string, links: Record<string, string>): HostilePath[] {
  const beside = `../${basename(outside)}`;
  const through = (link: string, ...below: string[]) => below.map((name) => `${link}/${name}`);
  const plain = [
    '..',
    '../..',
    `${beside}/secret.txt`,
    `./in/../${beside}/secret.txt`,
    `in/../../${basename(outside)}/secret.txt`,
    '../../../../../../../../../etc/passwd',
    `${outside}/secret.txt`,
    `/${outside}/secret.txt`,
    `${outside}/new.txt`,
    '/etc/passwd',
    '/',
    '//',
    `${root}/../${basename(outside)}/secret.txt`,
    `${root}x`,
    '/proc/self/root/etc/passwd',
    `/proc/self/root${outside}/secret.txt`,
    `/proc/self/root${root}/${PLAIN.file}`,
    `/proc/self/cwd/${PLAIN.file}`,
    '/proc/self/environ',
    '/dev/zero',
    `${PLAIN.file}\0`,
    `${PLAIN.file}\0.txt`,
    '\0',
    'n'.repeat(256),
    `in/${'ü'.repeat(128)}`,
    'p/'.repeat(2100),
    'l'.repeat(5000),
    ...through('link-dir', 'secret.txt', 'new.txt', 'd', 'd/f', 'd/new/deep.txt'),
    ...through('link-dir-relative', 'secret.txt', 'new.txt'),
    ...through('in/deep-link', 'f', 'new.txt'),
    ...through('chain-1', 'secret.txt', 'new.txt'),
    ...through('up', basename(outside), `${basename(outside)}/secret.txt`, 'haft-new-file.txt'),
    ...through('top', 'etc/passwd', `${outside.slice(1)}/secret.txt`, `${outside.slice(1)}/new.txt`),
    ...through('proc-root', 'etc/passwd', `${outside.slice(1)}/secret.txt`, `${outside.slice(1)}/new.txt`),
    ...through('descriptor', 'secret.txt', 'new.txt'),
    ...through('dev-fd', 'secret.txt', 'd/f'),
    ...through('dangling-dir', 'new.txt', 'a/b.txt'),
    ...through('loop-a', 'x'),
    ...through('loop-self', 'x'),
    ...(links['other-namespace'] ? through('other-namespace', 'secret.txt', 'new.txt', 'd/f') : []),
  ];
  const own = Object.keys(links).filter(
    (name) => !STATE_LINKS.includes(name) && !POLICY_LINKS.includes(name) && name !== 'proc-cwd',
  );
  return [
    ...[...plain, ...own, './link-file', 'link-file/', 'in/../link-dir', 'link-dir/.'].map((path) => ({
      path,
      kind: 'outside' as const,
      isLink: own.includes(normalize(path).replace(/\/$/, '')),
      landsInside: path.includes('other-namespace'),
    })),
  ];
}

function statePaths(root: string): HostilePath[] {
  const plain = [
    '.haft',
    '.haft/',
    '.haft/.',
    './.haft',
    'in/../.haft',
    `${root}/.haft`,
    '.haft/haft.db',
    './.haft//haft.db',
    'in/../.haft/haft.db',
    'in/./../.haft/./haft.db',
    `${root}/.haft/haft.db`,
    '.haft/haft.db-wal',
    '.haft/new.txt',
    '.haft/objects/new.txt',
    '.haft/.gitignore',
    'state/haft.db',
    'state/new.txt',
    'state-chain/haft.db',
    'state-chain/objects',
  ];
  return [
    ...plain.map((path) => ({ path, kind: 'state' as const })),
    ...STATE_LINKS.map((path) => ({ path, kind: 'state' as const, isLink: true })),
  ];
}

function policyPaths(root: string): HostilePath[] {
  const plain = [
    'haft.yaml',
    './haft.yaml',
    'in/../haft.yaml',
    `${root}/haft.yaml`,
    'haft.lock',
    '.git',
    './.git/',
    '.git/config',
    '.git/HEAD',
    '.git/hooks',
    '.git/hooks/pre-commit',
    '.git/hooks/new',
    '.git/new-folder/new.txt',
    'in/../.git/config',
    `${root}/.git/config`,
    'nested/.git',
    'nested/.git/config',
    'in/.git',
    'in/.git/hooks/post-checkout',
    'git-link/config',
    'git-link/hooks/pre-commit',
    'git-link/new.txt',
    'hooks-link/pre-commit',
    'hooks-link/new',
  ];
  return [
    ...plain.map((path) => ({ path, kind: 'policy' as const })),
    ...POLICY_LINKS.map((path) => ({ path, kind: 'policy' as const, isLink: true })),
  ];
}
