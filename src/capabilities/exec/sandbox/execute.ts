// Owns: one program in one slot, from its first byte to the end of its tree: streams, time, ending it, and noticing, a few times a
// second and at the end, that it has used up what it may.
// Refuses: to let go of a slot before both streams are at their end.
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { createBothEnds, createBoundedBuffer } from '../../../base/bounded-buffer.ts';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import type {
  SandboxLimitName,
  SandboxResult,
  SandboxSpec,
  SandboxStream,
  SandboxUsage,
} from '../../../contract/sandbox.ts';
import type { Inspection } from './inspect.ts';
import { type CgroupCounters, type ResolvedLimits, type SlotCgroup, watchDisk } from './limits.ts';
import type { Prepared } from './prepare.ts';
import { bytesWritten, descendants, treeUse } from './process-tree.ts';
import type { Slot, SlotEnd, SlotStreams } from './slot.ts';

export interface Job extends Omit<Prepared, 'mounts'> {
  readonly slot: Slot;
  readonly spec: Pick<
    SandboxSpec,
    'timeoutMs' | 'signal' | 'awaits' | 'graceMs' | 'captureBytes' | 'onOutput' | 'onBegin'
  >;
  readonly stdin: boolean;
  /** Whether stdout goes to the caller instead of being captured. */
  readonly handOver: boolean;
}

export interface Execution {
  /** Settles when the program begins; undefined when it never does. */
  readonly streams: Promise<SlotStreams | undefined>;
  /** Rejects only when `awaits` did, or `onOutput` where stdout was not handed over. */
  readonly ended: Promise<Ended>;
  /** Settles when the slot may be used again. */
  readonly released: Promise<unknown>;
  /** Its sandbox was there before it was asked for. */
  readonly laidOut: boolean;
  stop(graceMs: number): void;
}

export interface Ended
  extends Pick<SandboxResult, 'signal' | 'stdout' | 'stderr' | 'truncated' | 'timedOut' | 'aborted'> {
  readonly end: SlotEnd;
  /** Whether the program was let begin; before that nothing of it can have happened. */
  readonly began: boolean;
  /** Undefined when it did not come to that. With a fault the program was not let begin. */
  readonly inspection: Inspection | undefined;
  readonly limitHit: SandboxLimitName | undefined;
  readonly usage: SandboxUsage;
}

const GRACE_MS = 200;
const CAPTURE_BYTES = 2 ** 20;
/** How long the sandbox itself may take; a machine that needs longer cannot run anything. */
const SET_UP_MS = 30_000;
const ASK_AGAIN_MS = 5;
/** How long a killed tree has before its slot is killed too. */
const STUBBORN_MS = 2_000;

export function execute(job: Job): Execution {
  const { slot, spec, limits } = job;
  const begun = performance.now();
  const ending = createEnding(slot);
  let closeStdin = () => {};
  const watch = watchLimits(limits, slot.cgroup, job.workspace, {
    onHit: () => ending.end(0),
    onGone: () => closeStdin(),
  });
  const cap = spec.captureBytes ?? CAPTURE_BYTES;
  const kept = { stdout: createBoundedBuffer(job.handOver ? 0 : cap), stderr: createBothEnds(cap) };
  const graceMs = spec.graceMs ?? GRACE_MS;
  let timedOut = false;
  let aborted = false;
  let overflow = false;
  let callerFault: { readonly error: unknown } | undefined;
  let timer = setTimeout(() => ending.end(0), SET_UP_MS);
  let initPid = 0;
  let inspection: Inspection | undefined;
  let open: SlotStreams | undefined;
  let began = false;

  const take = (stream: SandboxStream, socket: Socket) => (chunk: Uint8Array) => {
    kept[stream].push(chunk);
    if (kept.stdout.total + kept.stderr.total > limits.outputBytes) {
      overflow = true;
      ending.end(0);
    }
    const fail = (error: unknown) => {
      callerFault ??= { error };
      ending.end(0);
    };
    try {
      const waiting = callerFault ? undefined : spec.onOutput?.(stream, chunk);
      if (!waiting) return;
      socket.pause();
      void waiting.catch(fail).then(() => socket.resume());
    } catch (error) {
      fail(error);
    }
  };
  const onTimeout = () => {
    timedOut = true;
    ending.end(graceMs);
  };
  const onAbort = () => {
    aborted = true;
    ending.end(graceMs);
  };

  const admit = (): boolean => {
    // What is being ended would look like a sandbox that is not as promised.
    if (ending.wanted()) return false;
    inspection = job.inspect(initPid);
    if (inspection.fault !== undefined) return false;
    clearTimeout(timer);
    if (spec.timeoutMs !== undefined) timer = setTimeout(onTimeout, spec.timeoutMs);
    watch.begin(initPid);
    began = true;
    spec.onBegin?.({ signal: (name) => ending.signal(name as NodeJS.Signals) });
    started.resolve(open);
    return true;
  };
  const refuse = (error: unknown): boolean => {
    callerFault ??= { error };
    return false;
  };

  const started = Promise.withResolvers<SlotStreams | undefined>();
  const over = Promise.withResolvers<SlotEnd>();
  const stdoutClosed = Promise.withResolvers<void>();
  const stderrClosed = Promise.withResolvers<void>();

  const laidOut = slot.execute({
    profile: job.profile,
    setting: job.setting,
    argv: job.argv,
    single: job.single,
    mountsSeen: job.mountsSeen,
    stdin: job.stdin,
    onStart(streams) {
      open = streams;
      const { stdin, stdout, stderr } = streams;
      stdin?.on('error', () => {});
      closeStdin = () => stdin?.destroy();
      stdout.on('error', () => {}).once('close', stdoutClosed.resolve);
      stderr.on('error', () => {}).once('close', stderrClosed.resolve);
      if (!job.handOver) stdout.on('data', take('stdout', stdout));
      stderr.on('data', take('stderr', stderr));
    },
    onInit(pid) {
      initPid = pid;
      ending.tree(pid);
    },
    admit: () => (spec.awaits ? spec.awaits.then(admit, refuse) : admit()),
    onExit: () => closeStdin(),
    onEnd: over.resolve,
  });
  if (spec.signal?.aborted) onAbort();
  else spec.signal?.addEventListener('abort', onAbort, { once: true });

  const dropStreams = () => {
    slot.kill();
    open?.stdout.destroy();
    open?.stderr.destroy();
  };
  const finish = async (): Promise<Ended> => {
    const end = await over.promise;
    ending.over();
    clearTimeout(timer);
    spec.signal?.removeEventListener('abort', onAbort);
    const { hit, used } = watch.end(end.code);
    closeStdin();
    if (!began) {
      open?.stdout.resume(); // nobody will read it
      started.resolve(undefined);
    }
    // What bubblewrap started may have outlived it before the program was let begin, and would hold the streams for ever.
    const abandon = began ? undefined : setTimeout(dropStreams, STUBBORN_MS);
    if (open) await Promise.all([(began && job.handOver) || stdoutClosed.promise, stderrClosed.promise]);
    clearTimeout(abandon);
    if (callerFault && !(began && job.handOver)) throw callerFault.error;
    return {
      end,
      began,
      inspection,
      signal: signalOf(end.code),
      stdout: kept.stdout.bytes(),
      stderr: kept.stderr.bytes(),
      truncated: { stdout: !job.handOver && kept.stdout.truncated, stderr: kept.stderr.truncated },
      timedOut,
      aborted,
      limitHit: hit ?? (overflow ? 'output' : undefined),
      usage: { wallMs: performance.now() - begun, ...used },
    };
  };
  const ended = finish();
  const released = Promise.allSettled([ended]).then(async () => {
    if (open) await stdoutClosed.promise;
  });
  return { streams: started.promise, ended, released, laidOut, stop: ending.end };
}

/** Ends a tree: politely where there is time, and surely. Waits for its first process where that is not known yet. */
function createEnding(slot: Slot) {
  let pid: number | undefined;
  let wanted: number | undefined;
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  const after = (ms: number, action: () => void) => timers.push(setTimeout(action, ms));
  const kill = () => {
    if (pid !== undefined && !isOver) ignoreErrors(() => process.kill(pid!, 'SIGKILL'));
    after(STUBBORN_MS, () => slot.kill());
  };
  const act = () => {
    if (pid === undefined || wanted === undefined || isOver) return;
    for (const timer of timers.splice(0)) clearTimeout(timer);
    if (wanted === 0) return kill();
    ask(pid);
    after(wanted, kill);
  };
  const ask = (leader: number) => {
    if (isOver) return;
    // The first process leads a session of its own and ignores this; until it has a child there is nobody to ask.
    if (descendants(leader).length > 1) ignoreErrors(() => process.kill(-leader, 'SIGTERM'));
    else after(ASK_AGAIN_MS, () => ask(leader));
  };
  return {
    tree(initPid: number) {
      pid = initPid;
      act();
    },
    end(graceMs: number) {
      if (isOver || (wanted !== undefined && wanted <= graceMs)) return;
      wanted = graceMs;
      if (pid === undefined) after(STUBBORN_MS, () => slot.kill());
      act();
    },
    signal(name: NodeJS.Signals) {
      if (isOver || pid === undefined) return;
      if (name === 'SIGKILL') this.end(0);
      // Not to the first one, which takes SIGINT for its own.
      else for (const one of descendants(pid)) if (one !== pid) ignoreErrors(() => process.kill(one, name));
    },
    wanted: () => wanted !== undefined,
    over() {
      isOver = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

const SIGNAL_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
);

const signalOf = (code: number | undefined): string | null =>
  code === undefined || code <= 128 ? null : (SIGNAL_NAMES.get(code - 128) ?? null);

interface LimitWatch {
  /** Starts looking at the tree below this process. */
  begin(initPid: number): void;
  /** The last look: what was hit between two looks, and what the whole tree used. */
  end(code: number | undefined): {
    readonly hit: SandboxLimitName | undefined;
    readonly used: CgroupUse | undefined;
  };
}

interface WatchEvents {
  onHit(limit: SandboxLimitName): void;
  /** The first process is no longer there, whether or not anybody has said so. */
  onGone(): void;
}

interface CgroupUse {
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
}

const LOOK_EVERY_MS = 150;

function watchLimits(
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
