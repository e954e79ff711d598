// Owns: why a machine cannot contain programs, in words that say what to do.
// Refuses: to guess silently; what it does not know it repeats as bubblewrap said it.
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { succeeds } from '../../../base/or-undefined.ts';
import { installHint } from '../install-hint.ts';
import { SYSTEM_PATH } from './keeper.ts';
import { coveredProc } from './own-proc.ts';

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
