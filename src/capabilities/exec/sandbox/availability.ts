// Owns: whether a machine can contain programs: the system's programs, a /proc of its own PID namespace, as whom programs run seen from
// outside; and why not, in words that say what to do.
// Refuses: to guess silently (what it does not know it repeats as bubblewrap said it), and root with capabilities: with them a
// remount inside reaches the host. To work with another namespace's /proc: there a number names another process.
import { accessSync, constants, existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import type { SandboxAvailability, SandboxObservation } from '../../../contract/sandbox.ts';
import { installHint } from '../look-up-program.ts';
import { mountTable, parseMounts } from './inspect.ts';

export interface Unavailable {
  readonly ok: false;
  readonly reason: string;
  readonly hint: string;
}

export interface Programs {
  readonly bwrap: string;
  readonly shell: string;
  readonly setpriv: string | undefined;
  /** Only to close descriptors with two digits, which other shells cannot name. */
  readonly bash: string | undefined;
}

/** Where the system's own programs are; never the caller's PATH. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The system's own programs that a sandbox is made with. */
export function findPrograms(path: string = SYSTEM_PATH): Programs | Unavailable {
  if (process.platform !== 'linux') {
    return {
      ok: false,
      reason: `bubblewrap needs Linux; this is ${process.platform}`,
      hint: 'Run Haft on Linux, or in a Linux virtual machine.',
    };
  }
  const find = (name: string) =>
    path
      .split(':')
      .map((dir) => join(dir, name))
      .find((file) => succeeds(() => accessSync(file, constants.X_OK)));
  const bwrap = find('bwrap');
  if (!bwrap) return { ok: false, reason: 'bubblewrap is not installed', hint: installHint('bubblewrap') };
  const shell = find('dash') ?? find('sh');
  if (!shell) return { ok: false, reason: 'there is no shell at /bin/sh', hint: installHint('dash') };
  return { bwrap, shell, setpriv: find('setpriv'), bash: find('bash') };
}

/** Reads what bubblewrap or the keeper complained about. */
export function explainFailure(complaint: string): Unavailable {
  const cause = CAUSES.find(({ pattern }) => pattern.test(complaint));
  if (cause) return { ok: false, reason: cause.reason(), hint: cause.hint() };
  return {
    ok: false,
    reason: `the sandbox did not start: ${complaint.trim().split('\n').at(-1) || 'no reason was given'}`,
    hint: 'Run `bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 true` and see what it says.',
  };
}

/** What lets a sandbox be made in a container. The first two were tried with Docker; the rest is by the engines' manuals. */
const CONTAINER =
  'docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt apparmor=unconfined (Podman: --security-opt seccomp=unconfined --security-opt unmask=ALL; Kubernetes: seccompProfile Unconfined and procMount Unmasked), and without --cap-drop where it runs as root';

const SYSCTL =
  'Allow them: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000; on Ubuntu 24.04 or newer also kernel.apparmor_restrict_unprivileged_userns=0';

interface Cause {
  readonly pattern: RegExp;
  reason(): string;
  hint(): string;
}

const CAUSES: readonly Cause[] = [
  {
    pattern: /Unknown option|unrecognized option/i,
    reason: () => 'bubblewrap is older than 0.8',
    hint: () => 'Install bubblewrap 0.8 or newer: older ones cannot forbid further user namespaces.',
  },
  {
    pattern: /\/proc\/sys\S*: Read-only file system/i,
    reason: () => '/proc/sys is read-only here, and bubblewrap has to write to it',
    hint: () => `Start the container with ${CONTAINER}.`,
  },
  {
    pattern: /pivot_root: Operation not permitted/i,
    reason: () => "the container's profile forbids pivot_root",
    hint: () => `Start the container with ${CONTAINER}.`,
  },
  {
    pattern:
      /creating new namespace|No permissions to create|user namespace|uid map|unshare.*(not permitted|denied)|Creating new namespace failed/i,
    reason: () => 'user namespaces are forbidden here',
    hint: () => `${SYSCTL}; in a container, start it with ${CONTAINER}.`,
  },
  {
    pattern: /mount proc|proc.*(not permitted|denied)/i,
    reason: () => `a new /proc cannot be mounted here${coveredParts()}`,
    hint: () =>
      `Uncover it. In a container: ${CONTAINER}. Below a bubblewrap of root: become an ordinary user in it (--unshare-user --uid 1000 --gid 1000), or leave out --proc and --unshare-pid.`,
  },
  {
    pattern: /No space left on device/i,
    reason: () => 'no further namespaces can be made, or the temporary folder is full',
    hint: () => 'Raise user.max_user_namespaces, or free space in the temporary folder.',
  },
];

function coveredParts(): string {
  const covered = coveredProc();
  if (covered.length === 0) return '';
  const [more, are] = [covered.length - 3, covered.length === 1 ? 'is' : 'are'];
  return `: ${covered.slice(0, 3).join(', ')}${more > 0 ? ` and ${more} more` : ''} of this one ${are} covered`;
}

/** Undefined where /proc is as it should be. */
export function procProblem(): Extract<SandboxAvailability, { ok: false }> | undefined {
  const self = ignoreErrors(() => readlinkSync('/proc/self'));
  if (self === undefined && !existsSync('/proc/stat'))
    return { ok: false, reason: '/proc is not mounted', hint: MOUNT };
  const status = ignoreErrors(() => readFileSync('/proc/self/status', 'latin1')) ?? '';
  // One number for each PID namespace, from that of /proc to that of the process.
  const numbers = /^NSpid:\s*(.*)$/m.exec(status)?.[1]?.trim().split(/\s+/);
  if (self === String(process.pid) && (numbers === undefined || numbers.length === 1)) return undefined;
  return { ok: false, reason: '/proc belongs to another PID namespace', hint: MOUNT };
}

/** What is mounted over parts of /proc; the kernel refuses a new /proc that would show them. */
const coveredProc = (): readonly string[] =>
  [...new Set(parseMounts(mountTable()).map(({ at }) => at))]
    .filter((at) => at.startsWith('/proc/') && !at.endsWith('/binfmt_misc'))
    .sort();

const MOUNT =
  'Mount the one of this PID namespace: mount -t proc proc /proc; or start it with unshare --pid --fork --mount-proc, or with bwrap --unshare-pid --proc /proc and an ordinary user (--unshare-user --uid 1000 --gid 1000).';

export interface HostIdentity {
  readonly name: SandboxObservation['identity'];
  readonly uid: number;
  readonly gid: number;
  /** A command prefix; empty where nothing has to change and nothing can be set. */
  readonly drop: string;
  /** Whether the keeper may mount: then sources that this user could not reach are shown to it. */
  readonly mounts: boolean;
}

/** A user id of no account: "haft" in hex. Only ever seen outside, on processes. */
const MAPPED_ID = 0x68616674;

/**
 * Best first. A program should not be root outside even without capabilities: to root's own user id the kernel gives
 * things that no capability guards (`/proc/sys/kernel/core_pattern`, tried). So root's workspaces are shown to another
 * user by an id-mapped mount, and `bare_root` is what remains where that cannot be had; there /proc is read-only
 * and the system call filter must exist. It keeps CAP_SETFCAP outside, without which root's id cannot be mapped.
 */
export function candidateIdentities(workspace: string, host: HostFacts): HostIdentity[] {
  const { uid, gid } = host;
  const die = host.setpriv ? `${host.setpriv} --pdeathsig KILL` : '';
  if (uid !== 0) return [{ name: 'self', uid, gid, drop: die && `${die} --`, mounts: false }];
  if (!host.setpriv) return [];
  const owner = statSync(workspace);
  const become = (id: { uid: number; gid: number }) =>
    `${die} --reuid ${id.uid} --regid ${id.gid} --clear-groups --inh-caps=-all --bounding-set=-all --`;
  if (owner.uid !== 0) {
    const id = { uid: owner.uid, gid: owner.gid };
    return [true, false].map((mounts) => ({ name: 'owner', ...id, drop: become(id), mounts }));
  }
  const mapped = { uid: MAPPED_ID, gid: MAPPED_ID };
  const bare = `${die} --inh-caps=-all --bounding-set=-all,+setfcap --`;
  return [
    { name: 'mapped', ...mapped, drop: become(mapped), mounts: true },
    { name: 'bare_root', uid: 0, gid: 0, drop: bare, mounts: false },
  ];
}

interface HostFacts {
  readonly uid: number;
  readonly gid: number;
  /** Absolute path of util-linux's setpriv. */
  readonly setpriv: string | undefined;
}
