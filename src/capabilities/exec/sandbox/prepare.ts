// Owns: what a caller may ask of a sandbox at all, and turning that into the words, mounts and limits of one program: bubblewrap's
// command line and the script of the first process inside.
// Refuses: to start it; what a shell word, a mount or a limit cannot express; and binds that would open the machine.
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { leadsOut } from '../../../base/follow-links.ts';
import { ignoreErrors } from '../../../base/ignore-errors.ts';
import { isWithin, normalizeRelPath } from '../../../base/rel-path.ts';
import type { Reason } from '../../../contract/errors.ts';
import { WORK_FOLDER } from '../../../contract/plan.ts';
import { QUEUES_FOLDER } from '../../../contract/run-environment.ts';
import type { SandboxBind, SandboxRefusal, SandboxSpec } from '../../../contract/sandbox.ts';
import type { Engine } from './engine.ts';
import { type ExpectedMount, type Inspection, idOfChecked, inspect } from './inspect.ts';
import { type ResolvedLimits, resolveLimits } from './limits.ts';
import { FORWARDER_TASKS, forwarderPrelude, INSIDE_PROXY, proxyEnv } from './proxy-bridge.ts';
import type { SlotJob } from './slot.ts';
import { INSIDE_HOME, INSIDE_ID, NEVER_BOUND, NEVER_WRITABLE } from './system-paths.ts';
import type { CheckedCopy, Mounts, ShownCopy, WorkspaceMounts } from './workspace-mounts.ts';
import { checkCopy, fenceBind, mountWorkspace } from './workspace-mounts.ts';

export interface Prepared extends Pick<SlotJob, 'profile' | 'setting' | 'argv' | 'single' | 'mountsSeen'> {
  readonly limits: ResolvedLimits;
  readonly mounts: WorkspaceMounts;
  /** What it can write to, outside. */
  readonly workspace: string;
  /** Looks at the sandbox around its first process, before the program begins. */
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

interface CheckedSpec {
  /** Absolute, inside the workspace, resolved. */
  readonly cwd: string;
  readonly binds: readonly CheckedBind[];
  readonly copies: readonly CheckedCopy[];
}

interface CheckedBind extends SandboxBind {
  /** What `path` resolves to. */
  readonly real: string;
}

export function checkSpec(
  spec: SandboxSpec,
  workspace: string,
  scratch: string,
): CheckedSpec | SandboxRefusal {
  const fault = programFault(spec) ?? limitFault(spec);
  if (fault) return refuse('shell.failed', `Cannot start the program: ${fault}`);
  const binds: CheckedBind[] = [];
  for (const bind of spec.binds ?? []) {
    const checked = checkBind(bind, [join(workspace, '.haft'), scratch]);
    if ('reason' in checked) return checked;
    binds.push(checked);
  }
  const copies: CheckedCopy[] = [];
  for (const copy of spec.copies ?? []) {
    const checked = checkCopy(copy, workspace);
    if ('reason' in checked) return checked;
    copies.push(checked);
  }
  const cwd = isWork(spec) ? WORK_FOLDER : checkCwd(spec.cwd ?? '.', workspace);
  if (typeof cwd !== 'string') return cwd;
  return { cwd, binds, copies };
}

/** A folder that only the binds below it make. */
const isWork = ({ cwd, binds = [] }: SandboxSpec): boolean =>
  cwd === WORK_FOLDER && binds.some(({ at }) => at !== undefined);

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function programFault({ argv, env, spawns }: SandboxSpec): string | undefined {
  const [program] = argv;
  if (!program) return 'no program is named';
  if (program.startsWith('-')) return 'its name starts with "-"';
  if (spawns === false && program.includes('=')) return 'its name holds a "="';
  if (argv.some((word) => word.includes('\0'))) return 'an argument holds a NUL character';
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name)) return `the variable name "${name}" is not made of letters, digits and "_"`;
    if (value.includes('\0')) return `the variable ${name} holds a NUL character`;
  }
  return undefined;
}

function limitFault({ limits = {}, timeoutMs, graceMs, captureBytes }: SandboxSpec): string | undefined {
  for (const [name, value] of Object.entries({ ...limits, timeoutMs })) {
    if (value !== undefined && !(value > 0)) return `the limit ${name} is not above zero`;
  }
  for (const [name, value] of Object.entries({ graceMs, captureBytes })) {
    if (value !== undefined && !(value >= 0)) return `${name} is below zero`;
  }
  return undefined;
}

function checkCwd(cwd: string, workspace: string): string | SandboxRefusal {
  const normal = normalizeRelPath(cwd);
  if (!normal.ok) return refuse(normal.reason, `Cannot start in "${cwd}": ${normal.message}`);
  // First: whether something is there is told only of the workspace itself.
  const out = leadsOut(join(workspace, normal.path), [workspace], readlinkSync);
  const real = out ? undefined : ignoreErrors(() => realpathSync.native(join(workspace, normal.path)));
  if (out || (real !== undefined && !isWithin(real, workspace)))
    return refuse('path.outside_workspace', `Cannot start in "${cwd}": it leads out of the workspace`);
  if (real === undefined) return refuse('path.not_found', `Cannot start in "${cwd}": no such folder`);
  if (!statSync(real).isDirectory())
    return refuse('path.not_directory', `Cannot start in "${cwd}": it is no folder`);
  return real;
}

/** Messages name the path as the caller did; it knows it already. */
function checkBind(bind: SandboxBind, secret: readonly string[]): CheckedBind | SandboxRefusal {
  const { path, writable } = bind;
  const no = (reason: Reason, fact: string) =>
    refuse(reason, `Cannot show "${path}" to the program: ${fact}`);
  if (!isAbsolute(path) || /[\0\n]/.test(path))
    return no('path.invalid', 'it is not an absolute path on one line');
  const { at } = bind;
  if (at !== undefined && !(at.startsWith(`${WORK_FOLDER}/`) && resolve(at) === at && !/[\0\n]/.test(at)))
    return no('path.invalid', `"${at}" is not a place below ${WORK_FOLDER}`);
  const real = ignoreErrors(() => realpathSync.native(path));
  const stat = real === undefined ? undefined : ignoreErrors(() => statSync(real));
  if (real === undefined || !stat) return no('path.not_found', 'no such file or folder');
  if (!stat.isFile() && !stat.isDirectory())
    return no('path.not_regular', 'it is neither a file nor a folder');
  const overlaps = (other: string) => isWithin(real, other) || isWithin(other, real);
  if ([...NEVER_BOUND, ...secret].some(overlaps))
    return no('path.protected', 'it would open the machine to it');
  if (writable && NEVER_WRITABLE.some(overlaps)) return no('path.protected', 'the system is never writable');
  return { ...bind, path: resolve(path), real };
}

const refuse = (reason: Reason, message: string): SandboxRefusal => ({ reason, message });

interface ProfileRequest {
  /** From `systemWords` and `createEtc`. */
  readonly system: readonly string[];
  /** Beside the workspace; `source` is where the sandbox's user finds it outside. */
  readonly binds: readonly (SandboxBind & { readonly source: string })[];
  /** From `mountWorkspace`. */
  readonly workspace: readonly string[];
  readonly tmpBytes: number;
  /** Where the proxy listens outside, as a unix socket. */
  readonly proxySocket: string | undefined;
  /** Whether the program may start others. */
  readonly spawns: boolean;
  /** See `SandboxSpec`. */
  readonly apart: boolean;
}

/** Where `singleProcessProgram` appears inside. It is copied: what lies in the scratch folder may not be executable. */
const INSIDE_SINGLE = '/run/haft-single';

/** The words that stay the same for as long as a caller asks for the same things. */
function profileWords(request: ProfileRequest): string[] {
  const tmpfs = (path: string, perms: string) => [
    '--perms',
    perms,
    '--size',
    String(request.tmpBytes),
    '--tmpfs',
    path,
  ];
  return [
    ...ISOLATION,
    ...request.system,
    // All of /proc is read-only: root's user id may write to /proc/sys without any capability, and bubblewrap's own
    // covering of it does not notice.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...tmpfs('/dev/shm', '1777'),
    ...(request.apart ? ['--mqueue', QUEUES_FOLDER] : []),
    ...['--remount-ro', '/dev'],
    ...tmpfs('/tmp', '1777'),
    ...(request.apart ? ['--dir', WORK_FOLDER] : [...tmpfs(INSIDE_HOME, '0755'), ...USUAL_FOLDERS]),
    ...request.binds.flatMap(({ source, path, at = path, writable }) => [
      writable ? '--bind' : '--ro-bind',
      source,
      at,
    ]),
    ...request.workspace,
    ...(request.proxySocket === undefined ? [] : ['--ro-bind', request.proxySocket, INSIDE_PROXY]),
    ...(request.spawns ? [] : ['--perms', '0555', '--file', '6', INSIDE_SINGLE]),
    ...['--remount-ro', '/'],
    ...['--seccomp', '9', '--json-status-fd', '3', '--as-pid-1', '--clearenv'],
  ];
}

const USUAL_FOLDERS = ['--dir', '/run', '--dir', '/var', '--symlink', '../tmp', '/var/tmp'];

interface SettingRequest {
  readonly shell: string;
  /** From `insideScript`. */
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The words between those of the profile and those of the program itself. */
function settingWords({ shell, script, cwd, env }: SettingRequest): string[] {
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]);
  return [...variables, '--chdir', cwd, '--', shell, '-c', script, 'haft'];
}

const ISOLATION = [
  ...['--unshare-all', '--unshare-user', '--disable-userns', '--cap-drop', 'ALL'],
  ...['--die-with-parent', '--new-session', '--hostname', 'haft'],
  ...['--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID)],
];

/**
 * Says that everything is set up, and waits until it has been looked at from outside. Then both pipes are closed for good.
 * What follows `go` on its line is the program, where that was not known yet, as words of a shell.
 */
const GATE =
  'echo M >&7; read -r _haft_go _haft_argv <&8; exec 7>&- 8<&-; [ "$_haft_go" = go ] || exit 125; ' +
  '[ -z "$_haft_argv" ] || eval "set -- $_haft_argv"';

/**
 * The script of the first process inside. It is not the program itself, because as process 1 a program would
 * ignore signals and leave zombies; when it ends, the kernel ends everybody else, and only then does bubblewrap return.
 * `exec` within parentheses runs a program and never a builtin of this shell.
 *
 * Without cgroups each process is bounded on its own and the tree is watched. RLIMIT_DATA and not RLIMIT_AS: the latter
 * counts address space that V8, Go and the JVM reserve and never use. RLIMIT_NPROC is set in here because it then counts
 * within this user namespace only. The hard limit on processor time is above the soft one, so that the signal tells.
 */
function insideScript(
  limits: ResolvedLimits,
  cgroups: boolean,
  { prelude = '', silent = false }: InsideOptions = {},
): string {
  const seconds = Math.ceil(limits.cpuSeconds);
  const lines = [
    'umask 022',
    'ulimit -c 0',
    `ulimit -f ${Number.isFinite(limits.fileSizeBytes) ? Math.ceil(limits.fileSizeBytes / 512) : 'unlimited'}`,
    `ulimit -n ${limits.openFiles}`,
    ...(Number.isFinite(limits.lockedBytes) ? [`ulimit -l ${Math.ceil(limits.lockedBytes / 1024)}`] : []),
    ...(Number.isFinite(limits.stackBytes) ? [`ulimit -S -s ${Math.ceil(limits.stackBytes / 1024)}`] : []),
    ...(Number.isFinite(seconds) ? [`ulimit -H -t ${seconds + 1}`, `ulimit -S -t ${seconds}`] : []),
    ...(cgroups
      ? []
      : [
          `ulimit -d ${Math.ceil(limits.memoryBytes / 1024)}`,
          `{ ulimit -p ${limits.processes + 2} || ulimit -u ${limits.processes + 2}; } 2>/dev/null`,
        ]),
  ];
  // A limit may already be lower than asked for, and then cannot be raised; that is no reason to fail.
  const program = silent ? 'exec 8>&2 2>/dev/null; (exec "$@" 2>&8 8>&-)' : '(exec "$@")';
  return `${GATE}; { ${lines.join('; ')}; } 2>/dev/null; ${prelude}${program}; exit $?`;
}

interface InsideOptions {
  /** What runs before the program. */
  readonly prelude?: string | undefined;
  /** Whether the shell keeps its own words to itself (`Segmentation fault`). */
  readonly silent?: boolean;
}
