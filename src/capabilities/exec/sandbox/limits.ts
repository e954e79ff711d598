// Owns: what bounds a program: the limits that hold where a caller names none; one cgroup for each slot, below the one this process
// is in, and what the kernel counts there; and how a disk fills though no process is charged for it: what children wrote that nobody
// waited for is in no count of /proc (tried: 800 MB under a limit of 32), nor is what was only set aside (fallocate).
// Refuses: to leave the limits that this process itself stands under, to move this process anywhere, and to blame a program for
// what others write: lost space only makes it look at the program's own files. To end anything: `execute` does.
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  type Stats,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import type { SandboxLimits } from '../../../contract/sandbox.ts';
import { lookAtOpenFiles } from './process-tree.ts';
import { ownPrefix, removeLeftovers } from './scratch.ts';

export type ResolvedLimits = Required<SandboxLimits>;

const GIB = 2 ** 30;

export const DEFAULT_LIMITS: ResolvedLimits = {
  cpuSeconds: Number.POSITIVE_INFINITY,
  memoryBytes: 4 * GIB,
  processes: 1024,
  fileSizeBytes: 4 * GIB,
  openFiles: 4096,
  bytesWritten: 16 * GIB,
  tmpBytes: GIB,
  lockedBytes: Number.NaN,
  stackBytes: Number.NaN,
  outputBytes: Number.POSITIVE_INFINITY,
};

export const resolveLimits = (limits: SandboxLimits | undefined): ResolvedLimits => ({
  ...DEFAULT_LIMITS,
  ...Object.fromEntries(Object.entries(limits ?? {}).filter(([, value]) => value !== undefined)),
});

interface CgroupTree {
  readonly version: 'cgroup_v1' | 'cgroup_v2';
  /** The folders that hold the slots' folders; what has to be removed at the end. */
  readonly bases: readonly string[];
  slot(id: number): SlotCgroup;
  /** What the keeper does at its end, for the case that it had none. */
  remove(): void;
}

export interface SlotCgroup {
  /** Folders whose `cgroup.procs` a slot enters. */
  readonly folders: readonly string[];
  /** `processes` without what the sandbox itself needs. */
  limit(memoryBytes: number, processes: number): void;
  /** Running totals, but for the peak, which `limit` resets. */
  counters(): CgroupCounters;
  /** The last counters; nothing but the slot's shell has run since. */
  latest(): CgroupCounters;
  pids(): number[];
}

export interface CgroupCounters {
  readonly oomKills: number;
  readonly refusedForks: number;
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
}

/** A slot's shell, the feeder of stdin, bubblewrap outside and the shell inside. */
const OWN_PROCESSES = 4;

const KIND = 'haft';

/** Undefined where this process may not make cgroups that bound memory and processes. */
export function createCgroupTree(proc: ProcFiles = realProcFiles): CgroupTree | undefined {
  const name = ownPrefix(KIND) + Math.random().toString(36).slice(2, 8);
  for (const layout of LAYOUTS) {
    const bases = layout.bases(parseOwn(proc.cgroup()), parseMounts(proc.mountinfo()), name);
    if (!bases || !makeAll(Object.values(bases), layout)) continue;
    return {
      version: layout.version,
      bases: [...new Set(Object.values(bases))],
      slot: (id) => slotCgroup(layout, bases, String(id)),
      remove: () => Object.values(bases).forEach(removeBase),
    };
  }
  return undefined;
}

/** Only empty cgroups can be removed. What is in these belongs to nobody any more; where it takes a while to die, the next removes them. */
function removeBase(base: string): void {
  for (const name of ignoreErrors(() => readdirSync(base)) ?? []) {
    if (!/^\d+$/.test(name)) continue;
    for (const pid of pidsOf(join(base, name))) ignoreErrors(() => process.kill(pid, 'SIGKILL'));
    ignoreErrors(() => rmdirSync(join(base, name)));
  }
  ignoreErrors(() => rmdirSync(base));
}

interface ProcFiles {
  /** /proc/self/cgroup */
  cgroup(): string;
  /** /proc/self/mountinfo */
  mountinfo(): string;
}

const realProcFiles: ProcFiles = {
  cgroup: () => readFileSync('/proc/self/cgroup', 'utf8'),
  mountinfo: () => readFileSync('/proc/self/mountinfo', 'utf8'),
};

type Controller = 'memory' | 'pids' | 'cpu';
type Bases = Readonly<Record<Controller, string>>;

interface CgroupMount {
  readonly type: 'cgroup' | 'cgroup2';
  readonly root: string;
  readonly at: string;
  readonly options: readonly string[];
}

/** How the two generations spell the same things. `[controller, file, key]`; without a key the whole file is a number. */
interface Layout {
  readonly version: CgroupTree['version'];
  bases(own: ReadonlyMap<string, string>, mounts: readonly CgroupMount[], name: string): Bases | undefined;
  /** Makes the controllers work in the folders below. */
  enable(base: string): void;
  /** Files in the order to write them. `?`: not every kernel counts swap. `=`: what to write in place of the limit. */
  readonly memoryMax: readonly string[];
  readonly memoryPeak: string;
  readonly oomKills: readonly [string, string];
  readonly cpu: { readonly file: string; readonly key?: string; readonly perMs: number };
}

const V1_CONTROLLERS: Readonly<Record<Controller, string>> = {
  memory: 'memory',
  pids: 'pids',
  cpu: 'cpuacct',
};

const LAYOUTS: readonly Layout[] = [
  {
    version: 'cgroup_v2',
    bases(own, mounts, name) {
      const mount = mounts.find((m) => m.type === 'cgroup2');
      const path = own.get('');
      if (!mount || path === undefined) return undefined;
      const parent = delegatingAncestor(mount.at, below(mount, path));
      return parent === undefined ? undefined : sameFor(join(parent, name));
    },
    enable: (base) => writeFileSync(join(base, 'cgroup.subtree_control'), '+memory +pids'),
    memoryMax: ['memory.swap.max?=0', 'memory.max'],
    memoryPeak: 'memory.peak',
    oomKills: ['memory.events', 'oom_kill'],
    cpu: { file: 'cpu.stat', key: 'usage_usec', perMs: 1000 },
  },
  {
    version: 'cgroup_v1',
    bases(own, mounts, name) {
      const found = Object.entries(V1_CONTROLLERS).map(([controller, option]) => {
        const mount = mounts.find((m) => m.type === 'cgroup' && m.options.includes(option));
        const path = own.get(option);
        return [
          controller,
          mount && path !== undefined ? join(below(mount, path), name) : undefined,
        ] as const;
      });
      return found.some(([, base]) => base === undefined) ? undefined : (Object.fromEntries(found) as Bases);
    },
    enable: () => {},
    // The limit with swap must not be below the one without: whichever way they move, this order gets there.
    memoryMax: ['memory.memsw.limit_in_bytes?', 'memory.limit_in_bytes', 'memory.memsw.limit_in_bytes?'],
    memoryPeak: 'memory.max_usage_in_bytes',
    oomKills: ['memory.oom_control', 'oom_kill'],
    cpu: { file: 'cpuacct.usage', perMs: 1e6 },
  },
];

const sameFor = (base: string): Bases => ({ memory: base, pids: base, cpu: base });

/** A cgroup with processes in it cannot hand controllers down, so a v2 group goes beside them: where they already are. */
function delegatingAncestor(top: string, own: string): string | undefined {
  for (let dir = own; ; dir = dirname(dir)) {
    const given =
      ignoreErrors(() => readFileSync(join(dir, 'cgroup.subtree_control'), 'utf8').split(/\s+/)) ?? [];
    const may = succeeds(() => accessSync(join(dir, 'cgroup.procs'), constants.W_OK));
    if (may && given.includes('memory') && given.includes('pids')) return dir;
    if (dir === top || dir === '/') return undefined;
  }
}

function makeAll(bases: readonly string[], layout: Layout): boolean {
  const made: string[] = [];
  try {
    for (const base of new Set(bases)) {
      removeLeftovers(dirname(base), KIND, removeBase);
      mkdirSync(base);
      made.push(base);
      layout.enable(base);
    }
    return true;
  } catch {
    for (const base of made) ignoreErrors(() => rmdirSync(base));
    return false;
  }
}

function slotCgroup(layout: Layout, bases: Bases, name: string): SlotCgroup {
  const at = (controller: Controller, file: string) => join(bases[controller], name, file);
  const folders = [...new Set(Object.values(bases))].map((base) => join(base, name));
  for (const folder of folders) mkdirSync(folder);
  let limits = '';
  let latest: CgroupCounters | undefined;
  const counters = () => {
    latest = {
      oomKills: readNumber(at('memory', layout.oomKills[0]), layout.oomKills[1]),
      refusedForks: readNumber(at('pids', 'pids.events'), 'max'),
      cpuMs: readNumber(at('cpu', layout.cpu.file), layout.cpu.key) / layout.cpu.perMs,
      memoryPeakBytes: readNumber(at('memory', layout.memoryPeak)),
    };
    return latest;
  };
  return {
    folders,
    limit(memoryBytes, processes) {
      ignoreErrors(() => writeFileSync(at('memory', layout.memoryPeak), '0'));
      if (limits === `${memoryBytes} ${processes}`) return;
      for (const setting of layout.memoryMax) {
        const [name = '', fixed = String(memoryBytes)] = setting.split('=');
        const write = () => writeFileSync(at('memory', name.replace('?', '')), fixed);
        name.endsWith('?') ? ignoreErrors(write) : write();
      }
      writeFileSync(at('pids', 'pids.max'), String(processes + OWN_PROCESSES));
      limits = `${memoryBytes} ${processes}`;
    },
    counters,
    latest: () => latest ?? counters(),
    pids: () => pidsOf(join(bases.pids, name)),
  };
}

/** A process that cannot be seen from here is written as 0, which to `kill` is everybody in this one's group. */
const pidsOf = (folder: string): number[] =>
  (ignoreErrors(() => readFileSync(join(folder, 'cgroup.procs'), 'utf8')) ?? '')
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);

/** A number of a file, or of its line `key number`; 0 where there is none. */
function readNumber(path: string, key?: string): number {
  const text = ignoreErrors(() => readFileSync(path, 'utf8')) ?? '';
  if (key === undefined) return Number.parseInt(text, 10) || 0;
  const line = text.split('\n').find((l) => l.startsWith(`${key} `));
  return line ? Number(line.slice(key.length + 1)) : 0;
}

/** Controller → path. The unified hierarchy has the empty name. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, ...path] = line.split(':');
    for (const controller of controllers?.split(',') ?? []) own.set(controller, path.join(':'));
  }
  return own;
}

function parseMounts(text: string): CgroupMount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '/', at = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    return type === 'cgroup' || type === 'cgroup2' ? [{ type, root, at, options: options.split(',') }] : [];
  });
}

/** Where a mount shows a cgroup; a mount may start below the hierarchy's root. */
const below = (mount: CgroupMount, path: string): string => join(mount.at, relative(mount.root, path));

interface DiskGrowth {
  /** Looks at the space that is left and, where too much is gone, at the files of these processes, a slice at a time. */
  look(pids: readonly number[]): Promise<void>;
  end(): void;
}

/** File times come from a clock that only ticks every few milliseconds. */
const TICK_MS = 20;
/** How long the host may be kept from everything else. */
const SLICE_MS = 10;
/** Files come and go while they are counted, so one count is not the last word; it costs a twentieth of the time. */
const REST = 20;

/** `onOver` is told once: files changed since then, with or without a name, take more than the limit. */
export function watchDisk(folder: string, limit: number, onOver: () => void): DiskGrowth {
  const since = Date.now() - TICK_MS;
  let most = freeBytes(folder) ?? 0;
  let others = 0;
  let again = 0;
  let busy = false;
  let ended = false;

  const isOver = async (pids: readonly number[], lost: number): Promise<boolean> => {
    const open = lookAtOpenFiles(folder, pids);
    let own = open.unnamed;
    let { hidden } = open;
    let until = performance.now() + SLICE_MS;
    for (const found of changedSince(folder, since)) {
      own += found.bytes;
      hidden ||= found.hidden;
      if (own > limit) return true;
      if (performance.now() < until) continue;
      await nextTurn();
      if (ended) return false;
      until = performance.now() + SLICE_MS;
    }
    // Whoever keeps files where nobody can count them answers for what is gone since the last count.
    if (hidden && lost - others > limit) return true;
    others = lost - own;
    return false;
  };

  return {
    async look(pids) {
      const free = freeBytes(folder);
      if (free === undefined || busy || ended) return;
      most = Math.max(most, free);
      const lost = most - free;
      const started = performance.now();
      if (lost <= limit || (lost - others <= limit && started < again)) return;
      busy = true;
      if (await isOver(pids, lost)) return onOver();
      again = performance.now() + REST * (performance.now() - started);
      busy = false;
    },
    end() {
      ended = true;
    },
  };
}

function freeBytes(folder: string): number | undefined {
  const found = ignoreErrors(() => statfsSync(folder));
  return found && found.bfree * found.bsize;
}

interface Changed {
  readonly bytes: number;
  /** Somebody made a place that cannot be looked into. */
  readonly hidden: boolean;
}

const UNCHANGED: Changed = { bytes: 0, hidden: false };
const UNSEEN: Changed = { bytes: 0, hidden: true };

/** One for each entry, so that its caller can pause between two. */
export function* changedSince(folder: string, since: number): Generator<Changed> {
  const own = join(folder, '.haft');
  const isNew = (stat: Stats | undefined) => stat !== undefined && stat.ctimeMs >= since;
  // What was shut before is none of its doing; what has too long a name cannot even be asked.
  const shut = (at: string, why: string) =>
    why === 'ENAMETOOLONG' || isNew(ignoreErrors(() => lstatSync(at))) ? UNSEEN : UNCHANGED;
  // A folder in which something was made or removed comes first: most programs that write much, make files.
  const changed = [folder];
  const others: string[] = [];
  for (let at = changed.pop(); at !== undefined; at = changed.pop() ?? others.pop()) {
    const entries = orCode(() => readdirSync(at!, { withFileTypes: true }));
    if (typeof entries === 'string') {
      yield shut(at, entries);
      continue;
    }
    for (const entry of entries) {
      const path = join(at, entry.name);
      if (path === own) continue;
      const stat = orCode(() => lstatSync(path));
      if (typeof stat === 'string') {
        yield stat === 'ENOENT' ? UNCHANGED : shut(at, stat);
        continue;
      }
      if (stat.isDirectory()) (isNew(stat) ? changed : others).push(path);
      // Folders and links take space as well.
      yield isNew(stat) ? { bytes: stat.blocks * 512, hidden: false } : UNCHANGED;
    }
  }
}

/** What it answers, or the code of the error. */
function orCode<T extends object>(action: () => T): T | string {
  try {
    return action();
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code ?? '';
  }
}
