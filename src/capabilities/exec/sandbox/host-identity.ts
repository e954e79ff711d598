// Owns: as whom programs run, seen from outside, and the words with which a slot becomes that user.
// Refuses: root with capabilities. With them a remount inside reaches the host.
import { statSync } from 'node:fs';
import type { SandboxObservation } from '../../../contract/sandbox.ts';

export interface HostIdentity {
  readonly name: SandboxObservation['identity'];
  readonly uid: number;
  readonly gid: number;
  /** A command prefix; empty where nothing has to change and nothing can be set. */
  readonly drop: string;
  /** Whether the keeper may mount: then sources that this user could not reach are shown to it. */
  readonly mounts: boolean;
}

/** Inside everybody is this user; outside it is `HostIdentity.uid`. */
export const INSIDE_ID = 1000;

/** A user id of no account: "haft" in hex. Only ever seen outside, on processes. */
export const MAPPED_ID = 0x68616674;

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

export interface HostFacts {
  readonly uid: number;
  readonly gid: number;
  /** Absolute path of util-linux's setpriv. */
  readonly setpriv: string | undefined;
}
