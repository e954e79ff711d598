// Owns: noticing, a few times a second and at the end, that a tree has used up what it may.
// Refuses: to end anything itself; it names the limit once, and its caller ends the tree.
import { succeeds } from '../../../base/or-undefined.ts';
import type { SandboxLimitName } from '../../../contract/sandbox.ts';
import type { CgroupCounters, SlotCgroup } from './cgroup.ts';
import { watchDisk } from './disk-growth.ts';
import type { ResolvedLimits } from './limits.ts';
import { bytesWritten, descendants, treeUse } from './process-tree.ts';

export interface LimitWatch {
  /** Starts looking at the tree below this process. */
  begin(initPid: number): void;
  /** The last look: what was hit between two looks, and what the whole tree used. */
  end(code: number | undefined): {
    readonly hit: SandboxLimitName | undefined;
    readonly used: CgroupUse | undefined;
  };
}

export interface WatchEvents {
  onHit(limit: SandboxLimitName): void;
  /** The first process is no longer there, whether or not anybody has said so. */
  onGone(): void;
}

export interface CgroupUse {
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
}

const LOOK_EVERY_MS = 150;

export function watchLimits(
  limits: ResolvedLimits,
  cgroup: SlotCgroup | undefined,
  workspace: string,
  { onHit, onGone }: WatchEvents,
): LimitWatch {
  cgroup?.limit(limits.memoryBytes, limits.processes);
  const before = cgroup?.latest();
  let timer: NodeJS.Timeout | undefined;
  let hit: SandboxLimitName | undefined;
  const note = (limit: SandboxLimitName | undefined) => {
    if (hit !== undefined || limit === undefined) return;
    hit = limit;
    clearInterval(timer);
    onHit(limit);
  };
  const disk = watchDisk(workspace, limits.bytesWritten, () => note('bytes_written'));
  return {
    begin(initPid) {
      timer = setInterval(() => {
        if (!succeeds(() => process.kill(initPid, 0))) return onGone();
        const pids = cgroup ? cgroup.pids() : descendants(initPid);
        note(cgroup && before ? counted(limits, before, cgroup.counters()) : summed(limits, pids));
        if (bytesWritten(pids) > limits.bytesWritten) note('bytes_written');
        void disk.look(pids);
      }, LOOK_EVERY_MS);
    },
    end(code) {
      clearInterval(timer);
      disk.end();
      const after = cgroup?.counters();
      if (before && after) note(counted(limits, before, after));
      note(SIGNALLED[code ?? 0]);
      const used = before &&
        after && { cpuMs: after.cpuMs - before.cpuMs, memoryPeakBytes: after.memoryPeakBytes };
      return { hit, used };
    },
  };
}

/** Exit codes of a program that SIGXCPU or SIGXFSZ ended. */
const SIGNALLED: Readonly<Record<number, SandboxLimitName>> = { 152: 'cpu', 153: 'file_size' };

function counted(
  limits: ResolvedLimits,
  before: CgroupCounters,
  now: CgroupCounters,
): SandboxLimitName | undefined {
  if (now.oomKills > before.oomKills) return 'memory';
  if (now.refusedForks > before.refusedForks) return 'processes';
  if (now.cpuMs - before.cpuMs > limits.cpuSeconds * 1000) return 'cpu';
  return undefined;
}

function summed(limits: ResolvedLimits, pids: readonly number[]): SandboxLimitName | undefined {
  const use = treeUse(pids);
  if (use.memoryBytes > limits.memoryBytes) return 'memory';
  if (use.tasks - 1 > limits.processes) return 'processes';
  if (use.cpuMs > limits.cpuSeconds * 1000) return 'cpu';
  return undefined;
}
