// Owns: turning a checked spec into the words, mounts and limits of one program.
// Refuses: to start it.
import type { SandboxRefusal, SandboxSpec } from '../../../contract/sandbox.ts';
import type { CheckedBind, CheckedSpec } from './check-spec.ts';
import type { Engine } from './engine.ts';
import { type Inspection, idOfChecked, inspect } from './inspect.ts';
import { insideScript, type ResolvedLimits, resolveLimits } from './limits.ts';
import { INSIDE_SINGLE, profileWords, settingWords } from './profile.ts';
import { FORWARDER_TASKS, forwarderPrelude, proxyEnv } from './proxy-bridge.ts';
import { within } from './scratch.ts';
import { mountWorkspace, type WorkspaceMounts } from './workspace-mounts.ts';

export interface Prepared {
  readonly profile: readonly string[];
  readonly setting: readonly string[];
  readonly argv: readonly string[];
  readonly single: boolean;
  readonly limits: ResolvedLimits;
  readonly mounts: WorkspaceMounts;
  readonly workspace: string;
  inspect(initPid: number): Inspection;
}

export async function prepare(
  engine: Engine,
  workspace: string,
  spec: SandboxSpec,
  checked: CheckedSpec,
  mount: typeof mountWorkspace = mountWorkspace,
): Promise<Prepared | SandboxRefusal> {
  const source = await engine.sourceOf(workspace);
  if (source === undefined) return unreachable('the workspace');
  const mounts = mount({
    root: workspace,
    source,
    nothing: `${engine.scratch}/share/nothing`,
    visible: spec.visible,
    writable: spec.writable,
    readOnly: spec.readOnly ?? [],
    hidden: spec.hidden ?? [],
  });
  if ('reason' in mounts) return mounts;

  const proxy = spec.network === undefined || spec.network === 'none' ? undefined : spec.network.proxy;
  const node = process.execPath;
  const binds: CheckedBind[] = proxy ? [...checked.binds, { path: node, real: node }] : [...checked.binds];
  const shown = [];
  for (const bind of binds) {
    const at = await engine.sourceOf(bind.real);
    if (at === undefined) return unreachable(`"${bind.path}"`);
    shown.push({ ...bind, source: at });
  }
  const asked = resolveLimits(spec.limits);
  const limits = proxy ? { ...asked, processes: asked.processes + FORWARDER_TASKS } : asked;
  const profile = profileWords({
    system: engine.system,
    binds: shown,
    workspace: mounts.words,
    tmpBytes: limits.tmpBytes,
    proxySocket: proxy && (await engine.bridges.socketFor(proxy)),
    spawns: spec.spawns ?? true,
  });
  const setting = settingWords({
    shell: engine.programs.shell,
    script: insideScript(limits, engine.limitsBy !== 'rlimit', proxy && forwarderPrelude(node)),
    cwd: checked.cwd,
    env: proxy ? proxyEnv(spec.env) : spec.env,
  });
  const bound = shown.map(({ path, at = path, real, writable }) => ({
    at,
    id: idOfChecked(real),
    writable: writable ?? false,
  }));
  const expected = [...bound, ...mounts.expected];
  // Where little is visible, the folders on the way to it are not those of the workspace.
  const isWorkspace = within(checked.cwd, workspace);
  const cwd = { at: checked.cwd, id: spec.visible || !isWorkspace ? undefined : idOfChecked(checked.cwd) };
  const single = spec.spawns === false;
  return {
    profile,
    setting,
    // `env` looks the program up on the PATH.
    argv: single ? [INSIDE_SINGLE, '/usr/bin/env', '--', ...spec.argv] : spec.argv,
    single,
    limits,
    mounts,
    workspace,
    inspect: (initPid) => inspect(initPid, expected, cwd),
  };
}

const unreachable = (what: string): SandboxRefusal => ({
  reason: 'path.denied_by_os',
  message: `Cannot start the program: ${what} cannot be shown to it`,
});
