// Owns: everything that one handle keeps running: scratch folder, keeper, cgroups, slots, and what the slots can reach.
// Refuses: to be used before a look from inside has shown that it holds.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { shWords } from '../../../base/shell/shell-quote.ts';
import type { SandboxObservation } from '../../../contract/sandbox.ts';
import { explainFailure, findPrograms, type Programs, type Unavailable } from './availability.ts';
import { createCgroupTree } from './cgroup.ts';
import { candidateIdentities, type HostIdentity } from './host-identity.ts';
import { entryId } from './inspect.ts';
import { type Keeper, startKeeper } from './keeper.ts';
import { mountsAt, mountsBelow, mountTable } from './mounts-below.ts';
import { procProblem } from './own-proc.ts';
import { createEtc } from './private-etc.ts';
import { createProxyBridges, type ProxyBridges } from './proxy-bridge.ts';
import { createScratch, removeScratch } from './scratch.ts';
import { seccompFilter } from './seccomp.ts';
import { openSlot } from './slot.ts';
import { createSlotPool, type SlotPool } from './slot-pool.ts';
import { NEVER_WORKSPACE, systemWords } from './system-paths.ts';

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

function rememberMounts(): Engine['mountsSeen'] {
  let table = '';
  const known = new Map<string, string>();
  return (paths) => {
    const now = mountTable();
    if (now !== table) known.clear();
    table = now;
    for (const path of paths) if (!known.has(path)) known.set(path, mountsBelow(path, now));
    return paths.map((path) => known.get(path)).join('\n');
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
