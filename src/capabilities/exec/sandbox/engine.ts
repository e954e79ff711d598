// Owns: everything that one handle keeps running: scratch folder, cgroups, slots, what the slots can reach, and their keeper: the
// one small process that this one starts. Everything else is forked by it, however big this one has grown.
// Refuses: to be used before a look from inside has shown that it holds, and to outlive this process: when the keeper's input
// ends it ends all slots and removes what they used.
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { shWords } from '../../../base/shell/shell-quote.ts';
import type { SandboxObservation } from '../../../contract/sandbox.ts';
import { startKeptProcess } from '../../kept-process.ts';
import type { HostIdentity, Programs, Unavailable } from './availability.ts';
import {
  candidateIdentities,
  explainFailure,
  findPrograms,
  procProblem,
  SYSTEM_PATH,
} from './availability.ts';
import { entryId, mountsAt, mountsBelow, mountTable, rememberMounts } from './inspect.ts';
import { KEEPER, SHOW } from './keeper-script.ts';
import { createCgroupTree } from './limits.ts';
import { createProxyBridges, type ProxyBridges } from './proxy-bridge.ts';
import { createScratch, removeScratch } from './scratch.ts';
import { seccompFilter } from './seccomp.ts';
import { createSlotPool, onLines, openSlot, type SlotKeeper, type SlotPool } from './slot.ts';
import { createEtc, NEVER_WORKSPACE, systemWords } from './system-paths.ts';

export interface Engine {
  readonly programs: Programs;
  readonly identity: HostIdentity;
  readonly scratch: string;
  readonly limitsBy: SandboxObservation['limitsBy'];
  readonly system: readonly string[];
  readonly pool: SlotPool;
  readonly bridges: ProxyBridges;
  /** Where the sandbox's user finds a path outside. Undefined when it cannot be shown. */
  sourceOf(path: string): Promise<string | undefined>;
  /** Changes when a sandbox that was laid out before would show other mounts than one laid out now. */
  mountsSeen(paths: readonly string[]): string;
  readonly gone: boolean;
  complaints(): string;
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly workspace: string;
  readonly concurrency: number;
  /** Leaves out the others, although they may be better; for tests of what only some machines need. */
  readonly identity?: HostIdentity['name'] | undefined;
}

/** Tries the identities that this host offers, best first; `accept` looks at each engine from inside. */
export async function startEngine<T>(
  options: EngineOptions,
  accept: (engine: Engine) => Promise<T | Unavailable>,
): Promise<{ readonly ok: true; readonly engine: Engine; readonly accepted: T } | Unavailable> {
  const { workspace } = options;
  const programs = findPrograms();
  if ('ok' in programs) return programs;
  const problem = procProblem();
  if (problem) return problem;
  if (!seccompFilter()) {
    return {
      ok: false,
      reason: `the system calls of ${process.arch} are not known`,
      hint: 'Use an x86-64 or arm64 machine.',
    };
  }
  if (/[\0-\x1f\x7f]/.test(workspace)) {
    return {
      ok: false,
      reason: "the workspace's name holds a control character",
      hint: 'Rename the folder.',
    };
  }
  if (NEVER_WORKSPACE.includes(workspace)) {
    return {
      ok: false,
      reason: 'the workspace is a folder of the system',
      hint: 'Make a folder of its own the workspace.',
    };
  }
  const host = { uid: process.getuid!(), gid: process.getgid!(), setpriv: programs.setpriv };
  let last: Unavailable = { ok: false, reason: 'setpriv is missing', hint: 'Install util-linux.' };
  for (const identity of candidateIdentities(workspace, host)) {
    if (options.identity && identity.name !== options.identity) continue;
    const engine = await openEngine(options, programs, identity);
    if ('ok' in engine) {
      last = engine;
      continue;
    }
    const accepted = await accept(engine);
    if (!isUnavailable(accepted)) return { ok: true, engine, accepted };
    last = accepted;
    await engine.close();
  }
  return last;
}

async function openEngine(
  options: EngineOptions,
  programs: Programs,
  identity: HostIdentity,
): Promise<Engine | Unavailable> {
  const { workspace, concurrency } = options;
  const scratch = createScratch([workspace]);
  if (scratch === undefined) {
    return {
      ok: false,
      reason: 'every temporary folder lies inside the workspace',
      hint: 'Set XDG_RUNTIME_DIR to a folder outside of it.',
    };
  }
  const cgroups = createCgroupTree();
  const keeper = await startKeeper({
    shell: programs.shell,
    bash: programs.bash,
    scratch,
    mounts: identity.mounts,
    drop: identity.drop,
    groups: cgroups?.bases ?? [],
  });
  if (!keeper) {
    removeScratch(scratch);
    cgroups?.remove();
    return {
      ok: false,
      reason: 'the keeper of the sandboxes did not start',
      hint: 'Install util-linux (unshare, setpriv) and coreutils.',
    };
  }
  const owner = identity.name === 'self' ? undefined : identity;
  const sourceOf = sources(keeper, scratch, identity);
  const bridges = createProxyBridges(scratch, owner);
  let slots = 0;
  const engine: Engine = {
    programs,
    identity,
    scratch,
    limitsBy: cgroups?.version ?? 'rlimit',
    system: [...systemWords(), ...createEtc(join(scratch, 'share', 'etc'))],
    pool: createSlotPool(concurrency, async () => {
      const id = ++slots;
      try {
        return await openSlot({
          keeper,
          scratch,
          id,
          bwrap: programs.bwrap,
          owner,
          cgroup: cgroups?.slot(id),
        });
      } catch {
        return undefined; // the machine would not have it; the next identity may do
      }
    }),
    bridges,
    sourceOf,
    // A source of its own for whatever was mounted makes other words already.
    mountsSeen: identity.mounts ? () => '' : rememberMounts(),
    get gone() {
      return keeper.gone;
    },
    complaints: () => keeper.complaints(),
    async close() {
      bridges.close();
      await keeper.close();
      // Only finds something where the keeper was killed.
      removeScratch(scratch);
      cgroups?.remove();
    },
  };
  // Entering cgroups takes the first slot a while; meanwhile the keeper mounts the workspace.
  const [slot, source] = await Promise.all([engine.pool.acquire(false), sourceOf(workspace)]);
  if (slot) engine.pool.release(slot, false);
  if (slot && source !== undefined) return engine;
  await engine.close();
  return explainFailure(keeper.complaints());
}

/** Root can show a sandbox's user what it could not reach by itself; anybody else shows what they reach. */
function sources(keeper: Keeper, scratch: string, identity: HostIdentity): Engine['sourceOf'] {
  if (!identity.mounts) return async (path) => path;
  const shown = new Map<string, Shown>();
  let made = 0;
  const show = async (path: string, mounts: string): Promise<string | undefined> => {
    const stat = statSync(path);
    const at = join(scratch, 'm', String(made++));
    const how = identity.name === 'mapped' ? 'mapped' : 'plain';
    const kind = stat.isDirectory() ? 'folder' : 'file';
    const words = [path, at, process.pid, SETNS[process.arch], identity.uid, stat.uid, stat.gid];
    const ok = await keeper.ask(shWords(['expose', how, kind, ...words.map(String)]));
    // Programs are fenced by what is seen here: they may not be shown anything else.
    return ok && mountsAt(keeper.pid, at) === mounts ? at : undefined;
  };
  let table = '';
  return (path) => {
    const now = mountTable();
    if (now !== table) for (const one of shown.values()) one.checked = false;
    table = now;
    const id = entryId(path); // a folder that was replaced is another one
    const known = shown.get(path);
    if (known?.checked && known.id === id) return known.at;
    const mounts = mountsBelow(path, now);
    if (known?.id === id && known?.mounts === mounts) {
      known.checked = true;
      return known.at;
    }
    // Held no longer than needed: what is shown cannot be unmounted from its disk.
    void known?.at.then((old) => old !== undefined && keeper.tell(shWords(['conceal', old])));
    const at = show(path, mounts);
    const one = { id, mounts, at, checked: true };
    shown.set(path, one);
    const forget = () => void (shown.get(path) === one && shown.delete(path));
    void at.then((found) => found ?? forget(), forget);
    return at;
  };
}

interface Shown {
  readonly id: string | undefined;
  readonly mounts: string;
  readonly at: Promise<string | undefined>;
  /** Since the table of mounts was another one. */
  checked: boolean;
}

/** System calls have numbers of their own on each CPU; there is a filter for these alone. */
const SETNS: Readonly<Record<string, number>> = { x64: 308, arm64: 268 };

const isUnavailable = (value: unknown): value is Unavailable =>
  typeof value === 'object' && value !== null && 'ok' in value && value.ok === false;

export interface Keeper extends SlotKeeper {
  /** What it and the slots have complained about last. */
  complaints(): string;
  /** Of the process, as /proc names it. */
  readonly pid: number;
  /** Ends the slots and waits until everything is removed. */
  close(): Promise<void>;
}

interface KeeperOptions {
  readonly shell: string;
  readonly bash: string | undefined;
  readonly scratch: string;
  /** Whether it shall have mounts of its own; only root can. */
  readonly mounts: boolean;
  readonly drop: string;
  readonly groups: readonly string[];
  /** How long it has for an answer, and for its end; by default `ANSWER_MS`. */
  readonly answerMs?: number;
}

/** A keeper answers within milliseconds; one that needs this long never will, and is killed. */
const ANSWER_MS = 30_000;

/** Undefined where it cannot be started in this way. */
export async function startKeeper(options: KeeperOptions): Promise<Keeper | undefined> {
  const { shell, scratch, mounts, drop, groups } = options;
  const argv: [string, ...string[]] = [
    shell,
    '-c',
    KEEPER,
    'haft-keeper',
    scratch,
    mounts ? 'private' : 'shared',
    shell,
    drop,
    SHOW,
    ...groups,
  ];
  if (mounts) argv.unshift('unshare', '-m', '--propagation', 'slave', '--');
  const leaking = inheritable();
  const closer = leaking.every((fd) => fd < 10) ? shell : options.bash;
  if (closer && leaking.length > 0)
    argv.unshift(closer, '-c', `exec ${leaking.map((fd) => `${fd}>&-`).join(' ')}; exec "$@"`, 'haft-keeper');
  const nothing = closer ? undefined : openSync('/dev/null', 'r');
  const inherited = nothing === undefined ? [] : covered(leaking, nothing);
  const kept = startKeptProcess(argv, { PATH: SYSTEM_PATH }, inherited);
  const { child, ref, unref } = kept;
  if (nothing !== undefined) closeSync(nothing);
  const waiting: ((ok: boolean) => void)[] = [];
  let complaints = '';
  const { answerMs = ANSWER_MS } = options;
  const complain = (text: string) => {
    complaints = (complaints + text).slice(-4096);
  };
  /** With all that it has started and that is still in its group. Answers would no longer be told apart. */
  const giveUp = (what: string) => () => {
    complain(`\nthe keeper of the sandboxes did not ${what} within ${answerMs / 1000} s\n`);
    kept.kill();
  };
  const expect = () =>
    new Promise<boolean>((resolve) => {
      if (kept.exited) return resolve(false);
      ref();
      const timer = setTimeout(giveUp('answer'), answerMs);
      waiting.push((ok) => {
        clearTimeout(timer);
        resolve(ok);
      });
    });

  void kept.ended.then(() => {
    for (const resolve of waiting.splice(0)) resolve(false);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    complain(chunk.toString('utf8'));
  });
  onLines(child.stdout, (line) => {
    waiting.shift()?.(!line.endsWith('failed'));
    if (waiting.length === 0) unref();
  });

  if (!(await expect())) return undefined;
  return {
    ask(line) {
      if (line.includes('\n')) return Promise.resolve(false); // the rest would be a line of its own
      const answer = expect();
      child.stdin.write(`${line}\n`);
      return answer;
    },
    tell: (line) => void child.stdin.write(`${line}\n`),
    complaints: () => complaints,
    pid: child.pid!,
    get gone() {
      return kept.exited;
    },
    async close() {
      if (kept.exited) return;
      ref();
      child.stdin.end();
      const timer = setTimeout(giveUp('end'), answerMs);
      await kept.ended;
      clearTimeout(timer);
    },
  };
}

/**
 * Descriptors that this process was born with and that its children would get too: whoever started it may have left
 * anything open. Those that Node.js opened itself close by themselves.
 */
function inheritable(): number[] {
  const open = ignoreErrors(() => readdirSync('/proc/self/fd')) ?? [];
  return open.map(Number).filter((fd) => {
    const flags = ignoreErrors(
      () => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^flags:\s*(\d+)/m)?.[1],
    );
    return fd > 2 && flags !== undefined && (Number.parseInt(flags, 8) & CLOEXEC) === 0;
  });
}

const CLOEXEC = 0o2000000;

/** Where no shell can close them, /dev/null takes their place. Only descriptors up to 2 would be covered by `ignore` (tried). */
const covered = (fds: readonly number[], nothing: number): number[] =>
  Array(Math.max(2, ...fds) - 2).fill(nothing);
