// Owns: why a machine cannot contain programs, in words that say what to do.
// Refuses: to guess silently; what it does not know it repeats as bubblewrap said it.
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_PATH } from './keeper.ts';
import { succeeds } from './quietly.ts';

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
  if (!bwrap) return { ok: false, reason: 'bubblewrap is not installed', hint: INSTALL };
  const shell = find('dash') ?? find('sh');
  if (!shell) return { ok: false, reason: 'there is no shell at /bin/sh', hint: 'Install dash.' };
  return { bwrap, shell, setpriv: find('setpriv'), bash: find('bash') };
}

const INSTALL = 'Install it: apt-get install bubblewrap, dnf install bubblewrap, or apk add bubblewrap.';

/** Reads what bubblewrap or the keeper complained about. */
export function explainFailure(complaint: string): Unavailable {
  const { reason, hint } = CAUSES.find(({ pattern }) => pattern.test(complaint)) ?? {
    reason: `the sandbox did not start: ${complaint.trim().split('\n').at(-1) || 'no reason was given'}`,
    hint: 'Run `bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 true` and see what it says.',
  };
  return { ok: false, reason, hint };
}

const CAUSES: readonly { pattern: RegExp; reason: string; hint: string }[] = [
  {
    pattern: /Unknown option|unrecognized option/i,
    reason: 'bubblewrap is older than 0.8',
    hint: 'Install bubblewrap 0.8 or newer: older ones cannot forbid further user namespaces.',
  },
  {
    pattern:
      /creating new namespace|No permissions to create|user namespace|uid map|unshare.*(not permitted|denied)|Creating new namespace failed/i,
    reason: 'user namespaces are forbidden here',
    hint: 'Allow them: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000; on Ubuntu 24.04 or newer also kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it with a profile that lets it unshare.',
  },
  {
    pattern: /mount proc|proc.*(not permitted|denied)/i,
    reason: 'a new /proc cannot be mounted here',
    hint: 'In a container, unmask /proc (docker run --security-opt systempaths=unconfined).',
  },
  {
    pattern: /No space left on device/i,
    reason: 'no further namespaces can be made, or the temporary folder is full',
    hint: 'Raise user.max_user_namespaces, or free space in the temporary folder.',
  },
];
