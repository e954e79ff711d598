// Owns: programs that packs bring or name: what each is made of, what it needs, and how a tool's call runs one.
// Refuses: shell lines (`exec.ts`), and to let a program have what its call did not declare.
import type { Effect } from './effect.ts';
import type { EgressConnection } from './http.ts';
import type { CodeCopy, SandboxLimits, SandboxProcess, SandboxResult, SandboxSpec } from './sandbox.ts';

/**
 * Runs programs in the sandbox, for one call or for one installation. Each need is asked of `scope.admit` first, policy's
 * hidden paths stay hidden, and there is a network only through the proxy, where each connection is decided by itself.
 * Where no sandbox can be had it throws `sandbox.unavailable`, unless policy says that programs may run without one.
 */
export interface ProgramHandle {
  /** Runs a program to its end. Throws what the signal aborted with, and what kept the program from starting. */
  run(program: Program, how: ProgramRun): Promise<ProgramOutcome>;
  /** Starts a program to talk to. It may serve further calls, until it is stopped. */
  start(program: Program, heard?: ConnectionListener, said?: StderrListener): Promise<StandingProgram>;
  /**
   * Equal for two programs exactly when one started for the first could serve the second: the same program with the same
   * needs, under the same rules for paths. Asks `admit` as `start` does.
   */
  profile(program: Program): Promise<string>;
  /** From now on the connections of this program are decided, and told, for this call. Its profile must be this call's. */
  adopt(program: StandingProgram, heard?: ConnectionListener): void;
  /**
   * After a call of a program that is kept: throws `policy.quarantined`, as `run` does, where something is there that it may
   * not make and that was not there when this handle was asked for its profile. Looks only where it may write.
   */
  lookAfter(program: Program): Promise<void>;
}

/** Told of what it writes to its standard error, as it does. The program waits while a returned promise is pending. */
export type StderrListener = (chunk: Uint8Array) => void | Promise<void>;

/** Told of every connection when it has ended, refused ones too. */
export type ConnectionListener = (connection: EgressConnection) => void;

/** How an installation describes a program that is kept running: the fields that all adapters share, once their schema holds. */
export interface ProgramConfig {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly parts?: readonly string[];
  readonly env?: {
    readonly passthrough?: readonly string[];
    readonly set?: Readonly<Record<string, string>>;
  };
  readonly caps?: {
    readonly network?: readonly string[];
    readonly filesystem?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
    readonly subprocess?: boolean;
  };
  readonly credentials?: readonly string[];
  readonly start_timeout_ms?: number;
  readonly idle_ms?: number;
  readonly timeout_ms?: number;
  readonly max_output_bytes?: number;
}

/** What it is not given here it does not have. */
export interface Program {
  /** No shell reads them. A name without a slash is looked up on the sandbox's PATH; `node` is the one that runs Haft. */
  readonly argv: readonly [string, ...string[]];
  /** The canonical simple command, of a program that policy decides about. Absent for what the pack itself brings. */
  readonly command?: string;
  /** Beside PATH, HOME, TMPDIR, LANG and what toolchains ask for. */
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the workspace; by default the root. */
  readonly cwd?: string;
  readonly needs: ProgramNeeds;
  readonly limits?: SandboxLimits;
}

export interface ProgramNeeds {
  /**
   * Absolute folders and files that it is made of, such as the pack's: shown to it read-only, no effects. What is below
   * the workspace is shown as it is there.
   */
  readonly parts: readonly string[];
  /** Of some parts: what is shown in their place. */
  readonly copies?: readonly CodeCopy[];
  /** Words of its command, relative to the workspace: the files that they name, if any, are parts of it too. */
  readonly named?: readonly string[];
  /** As effects name them, each with everything below. What is not there is left out. */
  readonly reads: readonly string[];
  /** May also be read. What is not there becomes a folder. */
  readonly writes: readonly string[];
  /** Schemes, or `*`; to which hosts is policy's. Empty: no network at all. */
  readonly network: readonly string[];
  /** May start other programs. */
  readonly subprocess: boolean;
}

export type ProgramRun = Pick<
  SandboxSpec,
  'stdin' | 'timeoutMs' | 'signal' | 'graceMs' | 'captureBytes' | 'onOutput'
>;

export interface ProgramOutcome extends SandboxResult {
  /** Every connection that was tried, refused ones too. */
  readonly connections: readonly EgressConnection[];
}

export interface StandingProgram extends SandboxProcess {
  readonly profile: string;
}

/** What running it would touch: the same list before it runs, for policy, and when it runs, for `admit`. */
export function programEffects(
  { command, needs }: Pick<Program, 'command' | 'needs'>,
  place: (path: string) => string,
): readonly Effect[] {
  const effects: Effect[] = command === undefined ? [] : [{ kind: 'exec', command }];
  if (needs.subprocess) effects.push({ kind: 'exec', command: '*' });
  for (const path of [...needs.reads, ...needs.writes])
    effects.push({ kind: 'fs.read', path: place(path), tree: true });
  for (const path of needs.writes) effects.push({ kind: 'fs.write', path: place(path), tree: true });
  for (const scheme of needs.network) effects.push({ kind: 'net.connect', scheme, host: '*', port: 0 });
  return effects;
}

/** How a server is started: what stands for its code, and another command where its own only names a package. */
export interface ProgramStart {
  /** Where all of its code lies, absolute: nothing else is shown of what its command names. */
  readonly parts?: readonly string[];
  readonly copies: readonly CodeCopy[];
  readonly command?: readonly [string, ...string[]];
}

export const NO_NEEDS: ProgramNeeds = { parts: [], reads: [], writes: [], network: [], subprocess: false };
