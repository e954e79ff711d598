// Owns: the limits that hold where a caller names none, and how a limit is set from within the sandbox.
// Refuses: to watch; `limit-watch` does.
import type { SandboxLimits } from '../../../contract/sandbox.ts';

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
export function insideScript(
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

export interface InsideOptions {
  /** What runs before the program. */
  readonly prelude?: string | undefined;
  /** Whether the shell keeps its own words to itself (`Segmentation fault`). */
  readonly silent?: boolean;
}
