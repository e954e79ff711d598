// Owns: one program of a pack: what it gets of the machine (its needs, admitted and within policy, as the sandbox's words), its run
// from start to end, or one that is kept and talked to, and for whom it works at the moment.
// Refuses: to announce the call: whoever calls a tool that changes something has done so before. To let a kept program use the
// network for a call that is over: each connection is decided for the one that it serves now.
import { existsSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { leadsOut } from '../../base/follow-links.ts';
import { ignoreErrors } from '../../base/ignore-errors.ts';
import { isWithin } from '../../base/rel-path.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { OpenProxy } from '../../contract/exec.ts';
import type { EgressConnection } from '../../contract/http.ts';
import {
  type ConnectionListener,
  type Program,
  type ProgramOutcome,
  type ProgramRun,
  programEffects,
  type StandingProgram,
  type StderrListener,
} from '../../contract/program.ts';
import type { SandboxBind, SandboxHandle, SandboxSpec, SandboxStream } from '../../contract/sandbox.ts';
import type { FencedRoot, FenceFinder, Fences } from './fences/find-fences.ts';
import { holdPlaceholders } from './fences/placeholders.ts';
import { type FenceKeeper, identities, withFences, withoutFences } from './fences/with-fences.ts';
import { checkedResult, isContained, openNetwork } from './run-shell.ts';

export interface ProgramSite {
  readonly scope: CallScope;
  readonly sandbox: SandboxHandle;
  readonly fences: FenceKeeper;
  readonly openProxy: OpenProxy;
}

export async function runProgram(
  site: ProgramSite,
  program: Program,
  how: ProgramRun,
): Promise<ProgramOutcome> {
  const { scope, sandbox } = site;
  const { spec, roots, fences } = programSpec(scope, program, site.fences);
  const signal = how.signal ? AbortSignal.any([how.signal, scope.signal]) : scope.signal;
  signal.throwIfAborted();
  const contained = await isContained(site.scope, site.sandbox, 'program');
  const connections: EgressConnection[] = [];
  const network = await openNetwork(
    program.needs.network.length > 0 ? site.openProxy : undefined,
    () => scope,
    (one) => connections.push(one),
  );
  try {
    const env = { ...usualEnv(site, program), ...program.env };
    const full = { ...spec, ...how, env, network: network.network, signal };
    const result = contained
      ? await withFences(scope, site.fences, roots, fences, () => sandbox.run(full))
      : await withoutFences(scope, site.fences, roots, async () =>
          (await import('./run-bare.ts')).runBareProgram(scope.root, full),
        );
    return { ...checkedResult(scope, result, 'program', signal), connections };
  } finally {
    await network.close();
  }
}

export const usualEnv = ({ sandbox }: ProgramSite, { needs }: Program): Readonly<Record<string, string>> =>
  needs.subprocess ? sandbox.baseEnv : sandbox.loneEnv;

/** Everything but streams, time, network and the environment. */
type ProgramSpec = Required<
  Pick<
    SandboxSpec,
    'argv' | 'cwd' | 'visible' | 'writable' | 'readOnly' | 'hidden' | 'binds' | 'copies' | 'spawns'
  >
> &
  Pick<SandboxSpec, 'limits'>;

export interface FencedProgram {
  readonly spec: ProgramSpec;
  readonly roots: readonly FencedRoot[];
  readonly fences: Fences;
}

/** Throws what `admit` throws. Makes the folders that it may write to, where they are not there. */
export function programSpec(scope: CallScope, program: Program, finder: FenceFinder): FencedProgram {
  for (const effect of programEffects(program, scope.place)) scope.admit(effect);
  const { needs } = program;
  const visible: string[] = [];
  const writable: string[] = [];
  const binds: SandboxBind[] = [];
  const show = (path: string, isWritable: boolean): void => {
    const rel = relativeTo(scope.root, path);
    if (rel === undefined) binds.push({ path, ...(isWritable ? { writable: true } : {}) });
    else (isWritable ? writable : visible).push(rel);
  };
  const { copies = [] } = needs;
  for (const path of needs.parts) {
    const isCopied = !isWithin(path, scope.root) && copies.some(({ at }) => at === path);
    if (!isCopied) show(path, false);
  }
  const granted = [...needs.reads, ...needs.writes].map((path) => absolute(scope.root, scope.place(path)));
  // What is granted is there already; shown once more, on its own, it could not be replaced.
  const isGranted = (path: string) => granted.some((folder) => isWithin(join(scope.root, path), folder));
  for (const path of needs.named ?? []) if (!isGranted(path) && isFile(scope.root, path)) show(path, false);
  for (const path of needs.reads.map(scope.place)) if (isThere(scope.root, path)) show(path, false);
  for (const path of needs.writes.map(scope.place)) {
    makeFolder(scope.root, path);
    show(path, true);
  }
  const [name, ...args] = program.argv;
  const own = name === 'node' ? process.execPath : name;
  if (own !== name) {
    binds.push({ path: own });
    // Where it lies in a folder that a copy stands for, it is to be seen in the copy.
    if (isWithin(own, scope.root) && copies.some(({ at }) => isWithin(own, at))) show(own, false);
  }
  const roots = shownRoots(scope.root, visible, writable, granted, binds);
  const fences = finder.find(scope, roots);
  const { hidden, readOnly } = fences;
  const spec: ProgramSpec = {
    argv: [own, ...args],
    cwd: program.cwd ?? '.',
    visible,
    writable,
    binds,
    copies,
    spawns: needs.subprocess,
    hidden,
    readOnly,
    ...(program.limits ? { limits: program.limits } : {}),
  };
  return { spec, roots, fences };
}

/** The folders to look through: what is shown of the workspace, and what is granted beside it. */
function shownRoots(
  root: string,
  visible: readonly string[],
  writable: readonly string[],
  granted: readonly string[],
  binds: readonly SandboxBind[],
): FencedRoot[] {
  const real = (path: string) => ignoreErrors(() => realpathSync.native(path));
  const isWritable = (path: string) => binds.some((bind) => bind.writable && real(bind.path) === path);
  const realOf = (paths: readonly string[]) => paths.flatMap((path) => real(join(root, path)) ?? []);
  const shown = [...visible, ...writable];
  // By their own names too: rules may name what is behind a link on the way.
  const below = [...new Set([...realOf(shown), ...shown.map((path) => join(root, path))])];
  const beside = new Set(
    granted.filter((path) => relativeTo(root, path) === undefined).flatMap((path) => real(path) ?? []),
  );
  return [
    ...(below.length > 0 ? [{ path: root, below, writable: realOf(writable) }] : []),
    ...[...beside].map((path) => ({ path, writable: isWritable(path) ? [path] : [] })),
  ];
}

const isFile = (root: string, path: string): boolean =>
  !path.startsWith('..') && statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;

/** See `ProgramHandle.profile`. */
export function profileOf(
  scope: CallScope,
  program: Program,
  finder: FenceFinder,
  { spec, fences } = programSpec(scope, program, finder),
): string {
  const { policy } = scope;
  // Where something took the place of what a fence is on, the program that was kept can reach it: another is started.
  const held = new Set([...fences.missing, ...fences.present].map(({ path }) => path));
  const fenced = [...identities(scope.root, fences)].filter(([path]) => !held.has(path) || isFilled(path));
  return JSON.stringify([spec, fenced, program.env, program.needs.network, policy.programs, policy.packs]);
}

/** What may be a placeholder is empty. */
const isFilled = (path: string): boolean => {
  const stat = ignoreErrors(() => statSync(path, { throwIfNoEntry: false }));
  return stat?.isFile() === true && stat.size > 0;
};

/** Effects name what lies in the workspace relative to it; parts are absolute wherever they are. */
function relativeTo(root: string, path: string): string | undefined {
  if (!path.startsWith('/')) return path;
  if (!isWithin(path, root)) return undefined;
  return path === root ? '.' : path.slice(root.length + 1);
}

const absolute = (root: string, path: string) => (path.startsWith('/') ? path : join(root, path));

const isThere = (root: string, path: string): boolean => existsSync(absolute(root, path));

/** Only within the workspace: what is granted beside it is there, or is not. */
function makeFolder(root: string, path: string): void {
  if (path.startsWith('/')) return;
  if (leadsOut(join(root, path), [root], readlinkSync))
    throw fail(
      'path.outside_workspace',
      `Cannot let a program write to "${path}": it leads out of the workspace`,
    );
  if (!isThere(root, path)) mkdirSync(join(root, path), { recursive: true });
}

export interface Standing extends StandingProgram {
  serve(scope: CallScope, heard?: ConnectionListener): void;
}

export async function startProgram(
  site: ProgramSite,
  program: Program,
  heard?: ConnectionListener,
  said?: StderrListener,
): Promise<Standing> {
  const { sandbox } = site;
  let current = site.scope;
  let listener = heard;
  const fenced = programSpec(current, program, site.fences);
  const { spec, fences } = fenced;
  const profile = profileOf(current, program, site.fences, fenced);
  const contained = await isContained(site.scope, site.sandbox, 'program');
  const network = await openNetwork(
    program.needs.network.length > 0 ? site.openProxy : undefined,
    () => current,
    (connection) => listener?.(connection),
  );
  // While it lives, and not looked at afterwards: in that time others come and go in the same folders.
  const held = holdPlaceholders(current.root, contained ? fences : NONE, site.fences.names);
  try {
    const full = {
      ...spec,
      env: { ...usualEnv(site, program), ...program.env },
      network: network.network,
      ...(said ? { onOutput: tellErrors(said) } : {}),
    };
    const started = contained
      ? await sandbox.start(full)
      : (await import('./run-bare.ts')).startBareProgram(current.root, full);
    void started.result.then(() => {
      held.release();
      return network.close();
    });
    return {
      stdin: started.stdin,
      stdout: started.stdout,
      result: started.result,
      stop: (graceMs) => started.stop(graceMs),
      profile,
      serve(scope, next) {
        current = scope;
        listener = next;
      },
    };
  } catch (thrown) {
    held.release();
    await network.close();
    throw thrown;
  }
}

const tellErrors = (said: StderrListener) => (stream: SandboxStream, chunk: Uint8Array) =>
  stream === 'stderr' ? said(chunk) : undefined;

const NONE = { missing: [], present: [] };
