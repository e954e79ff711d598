// Owns: turning a checked spec into the words, mounts and limits of one program.
// Refuses: to start it.
import { isAbsolute } from 'node:path';
import { isWithin } from '../../../base/rel-path.ts';
import type { SandboxRefusal, SandboxSpec } from '../../../contract/sandbox.ts';
import type { CheckedBind, CheckedSpec } from './check-spec.ts';
import type { Engine } from './engine.ts';
import { type ExpectedMount, type Inspection, idOfChecked, inspect } from './inspect.ts';
import { insideScript, type ResolvedLimits, resolveLimits } from './limits.ts';
import { INSIDE_SINGLE, profileWords, settingWords } from './profile.ts';
import { FORWARDER_TASKS, forwarderPrelude, proxyEnv } from './proxy-bridge.ts';
import type { ShownCopy } from './show-copies.ts';
import { fenceBind, type Mounts, mountWorkspace, type WorkspaceMounts } from './workspace-mounts.ts';

export interface Prepared {
  readonly profile: readonly string[];
  readonly setting: readonly string[];
  readonly argv: readonly string[];
  readonly single: boolean;
  readonly mountsSeen: string;
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
  const nothing = `${engine.scratch}/share/nothing`;
  const source = await engine.sourceOf(workspace);
  if (source === undefined) return unreachable('the workspace');
  const copies: ShownCopy[] = [];
  for (const copy of checked.copies) {
    const from = await engine.sourceOf(copy.real);
    if (from === undefined) return unreachable(`the copy of "${copy.at}"`);
    copies.push({ ...copy, source: from });
  }
  const mounts = spec.apart
    ? NO_WORKSPACE
    : mount({
        root: workspace,
        source,
        copies: copies.filter(({ at }) => isWithin(at, workspace)),
        nothing,
        visible: spec.visible,
        writable: spec.writable,
        readOnly: (spec.readOnly ?? []).filter((path) => !isAbsolute(path)),
        hidden: (spec.hidden ?? []).filter((path) => !isAbsolute(path)),
      });
  if ('reason' in mounts) return mounts;

  const proxy = spec.network === undefined || spec.network === 'none' ? undefined : spec.network.proxy;
  const node = process.execPath;
  const binds: CheckedBind[] = proxy ? [...checked.binds, { path: node, real: node }] : [...checked.binds];
  const shown: (CheckedBind & { readonly source: string })[] = [];
  // First, so that what lies live below one can be shown in it.
  for (const copy of copies) if (!isWithin(copy.at, workspace)) shown.push({ ...copy, path: copy.at });
  for (const bind of binds) {
    const at = await engine.sourceOf(bind.real);
    if (at === undefined) return unreachable(`"${bind.path}"`);
    shown.push({ ...bind, source: at });
  }
  const fences = fenceBinds(shown, spec, nothing);
  if ('reason' in fences) return fences;
  const asked = resolveLimits(spec.limits);
  const limits = proxy ? { ...asked, processes: asked.processes + FORWARDER_TASKS } : asked;
  const profile = profileWords({
    system: engine.system,
    binds: shown,
    workspace: [...fences.words, ...mounts.words],
    tmpBytes: limits.tmpBytes,
    proxySocket: proxy && (await engine.bridges.socketFor(proxy)),
    spawns: spec.spawns ?? true,
    apart: spec.apart ?? false,
  });
  const setting = settingWords({
    shell: engine.programs.shell,
    script: insideScript(limits, engine.limitsBy !== 'rlimit', {
      prelude: proxy && forwarderPrelude(node),
      silent: spec.apart ?? false,
    }),
    cwd: checked.cwd,
    env: proxy ? proxyEnv(spec.env) : spec.env,
  });
  const bound = shown.map(({ path, at = path, real, writable }) => ({
    at,
    id: idOfChecked(real),
    writable: writable ?? false,
  }));
  const expected = [...bound, ...fences.expected, ...mounts.expected];
  // Where little is visible, the folders on the way to it are not those of the workspace.
  const isWorkspace = isWithin(checked.cwd, workspace);
  const cwd = { at: checked.cwd, id: spec.visible || !isWorkspace ? undefined : idOfChecked(checked.cwd) };
  const single = spec.spawns === false;
  return {
    profile,
    setting,
    // `env` looks the program up on the PATH.
    argv: single ? [INSIDE_SINGLE, '/usr/bin/env', '--', ...spec.argv] : spec.argv,
    single,
    mountsSeen: engine.mountsSeen([workspace, ...shown.map(({ real }) => real)]),
    limits,
    mounts,
    workspace,
    inspect: (initPid) => inspect(initPid, expected, cwd),
  };
}

const NO_WORKSPACE: WorkspaceMounts = { words: [], expected: [], disturbed: () => [] };

type Shown = CheckedBind & { readonly source: string };

/** Each fence beside the workspace belongs to the innermost folder that is shown around it. */
function fenceBinds(shown: readonly Shown[], spec: SandboxSpec, nothing: string): Mounts | SandboxRefusal {
  const words: string[] = [];
  const expected: ExpectedMount[] = [];
  const innermost = (path: string) =>
    shown
      .filter(({ real }) => isWithin(path, real))
      .reduce<Shown | undefined>(
        (best, one) => (best && best.real.length >= one.real.length ? best : one),
        undefined,
      );
  const beside = (paths: readonly string[] = [], bind: Shown) =>
    paths.filter((path) => isAbsolute(path) && innermost(path)?.real === bind.real);
  for (const bind of shown) {
    const { real: root, source, path, at = path, writable = false } = bind;
    const readOnly = beside(spec.readOnly, bind);
    const hidden = beside(spec.hidden, bind);
    if (readOnly.length + hidden.length === 0) continue;
    const fenced = fenceBind({ root, source, at, nothing, writable, readOnly, hidden });
    if ('reason' in fenced) return fenced;
    words.push(...fenced.words);
    expected.push(...fenced.expected);
  }
  return { words, expected };
}

const unreachable = (what: string): SandboxRefusal => ({
  reason: 'path.denied_by_os',
  message: `Cannot start the program: ${what} cannot be shown to it`,
});
