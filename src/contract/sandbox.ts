// Owns: what it means to run a program contained: what it may see, what it may use up, how it ended.
// Refuses: to decide whether a program may run. Policy has done that; a sandbox only keeps what it promises.
import type { Readable, Writable } from 'node:stream';
import type { Reason } from './errors.ts';

/**
 * Runs programs of one workspace. Each gets its own user, pid, mount, network, ipc, uts and cgroup namespace,
 * no capability, no way to get one, and only the paths that are named. When `run` answers, nothing of the
 * program's tree is left; when the process that holds this handle dies, however it dies, the trees die too.
 */
export interface SandboxHandle {
  /** Whether programs can be contained here. Looks once, for real, and warms the handle up. */
  available(): Promise<SandboxAvailability>;
  /** Runs a program to its end. Never rejects for what the program or the machine did: see `refused`. */
  run(spec: SandboxSpec): Promise<SandboxResult>;
  /** Starts a program to talk to. Rejects with a failure of the table where `run` would answer `refused`. */
  start(spec: SandboxStartSpec): Promise<SandboxProcess>;
  /**
   * What a program usually needs in its environment here: PATH, HOME, TMPDIR, LANG, and what the toolchains ask
   * for. Nothing of it is added by itself; callers spread it into `env`.
   */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** The same for a program that may start no other: shims of version managers are scripts that do. */
  readonly loneEnv: Readonly<Record<string, string>>;
  /** Ends every program and removes everything that was set up. Closing twice is fine. */
  close(): Promise<void>;
}

export type SandboxAvailability =
  | { readonly ok: true; readonly observed: SandboxObservation }
  | { readonly ok: false; readonly reason: string; readonly hint: string };

/** What holds for all programs of a handle. */
export interface SandboxOptions {
  /** The absolute, resolved workspace root. It appears inside at the same path. */
  readonly workspace: string;
  /**
   * Workspace-relative paths that programs may read and never change, beside those that always are
   * (`haft.yaml`, `haft.lock`, `.git`): pack folders.
   */
  readonly readOnly?: readonly string[];
  /** Programs that policy grants and that may live outside of /usr; their toolchains become visible, read-only. */
  readonly toolchains?: readonly string[];
  /** Where `toolchains` are looked up, as a PATH. By default that of this process. */
  readonly path?: string;
  /** How many programs of `run` are under way at once; the others wait. Those of `start` do not count. */
  readonly concurrency?: number;
}

/** One program, and everything that it gets. What is not said here it does not have. */
export interface SandboxSpec {
  /** The program and its arguments. No shell reads them. A name without a slash is looked up on `env.PATH`. */
  readonly argv: readonly [string, ...string[]];
  /** Workspace-relative; by default the root. Or `/work`, where a bind appears below it. */
  readonly cwd?: string;
  /** The whole environment; only PWD (and with a proxy the `*_proxy` variables) is added. */
  readonly env: Readonly<Record<string, string>>;
  /** By default empty. A stream is read as fast as the program takes it. */
  readonly stdin?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** From when the program starts; waiting for a free place does not count. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /**
   * What must have happened before the program begins; its sandbox is set up meanwhile. Where it fails nothing runs, and
   * that is what `run` and `start` reject with.
   */
  readonly awaits?: Promise<unknown>;
  /**
   * Whether a program like this one is to be expected next: then a sandbox may be laid out for it, with the same `env`, which
   * waits for some seconds. Never with a secret in `env`: it would outlive the program. By default false.
   */
  readonly expectAnother?: boolean;
  /** How long the program has between SIGTERM and SIGKILL when it is timed out or aborted. By default 200 ms. */
  readonly graceMs?: number;
  /**
   * Workspace-relative paths that are there at all, each with what is below it, beside those in `writable`; the rest of
   * the workspace is an empty folder then. They must exist. By default the whole workspace is there.
   */
  readonly visible?: readonly string[];
  /**
   * Whether it has nothing to do with the workspace: not even its place is there, nor a home. It starts in `/work`, and finds
   * around it what a program of a run finds (`run-environment.ts`).
   */
  readonly apart?: boolean;
  /** Workspace-relative paths that may be written; by default the whole workspace. `[]` makes it read-only. */
  readonly writable?: readonly string[];
  /** Paths that may not be changed, beside those of the handle: relative in the workspace, absolute and real below a bind. */
  readonly readOnly?: readonly string[];
  /** Paths, named likewise, that cannot even be read: what policy denies to every tool. */
  readonly hidden?: readonly string[];
  /** Folders and files beside the workspace, absolute; they appear at the same path. */
  readonly binds?: readonly SandboxBind[];
  /** Copies that are shown, read-only, in the place of folders that are visible or bound. */
  readonly copies?: readonly CodeCopy[];
  readonly network?: SandboxNetwork;
  /**
   * Whether it may start other processes; by default it may. Where it may not, fork and its kin fail with EPERM. Threads
   * are no processes, and it may still become another program by exec.
   */
  readonly spawns?: boolean;
  readonly limits?: SandboxLimits;
  /** How many bytes of each stream the result keeps: the first of stdout, the first and the last of stderr. By default 1 MiB. */
  readonly captureBytes?: number;
  /** The program has begun. */
  readonly onBegin?: (control: SandboxControl) => void;
  /** Stays for longer: does not count towards `concurrency`. */
  readonly standing?: boolean;
  /** Every byte, in order, also beyond `captureBytes`. The program waits while a returned promise is pending. */
  readonly onOutput?: (stream: SandboxStream, chunk: Uint8Array) => void | Promise<void>;
}

/** Reaches a program of `run` while it runs. */
export interface SandboxControl {
  /** To every process of its tree; SIGKILL ends it. */
  signal(name: `SIG${string}`): void;
}

/** A program to talk to brings its own reader for stdout; stderr is captured as in `run`. */
export type SandboxStartSpec = Omit<SandboxSpec, 'stdin'>;

export type SandboxStream = 'stdout' | 'stderr';

/** What stands for a folder: exactly what was hashed of it, whatever it holds by now. Both are absolute. */
export interface CodeCopy {
  readonly at: string;
  /** Below `.haft/packs` of the workspace. */
  readonly from: string;
  /** Absolute paths below it that are shown as they are, where they are granted. */
  readonly live?: readonly string[];
}

export interface SandboxBind {
  readonly path: string;
  /** Where it appears instead: below `/work`. */
  readonly at?: string;
  /** By default read-only. */
  readonly writable?: boolean;
}

/**
 * `none`: a loopback interface and nothing else, no names resolved. A proxy is the only way out: it appears inside as
 * `http://127.0.0.1:3128`, set in the `http_proxy`, `https_proxy` and `all_proxy` variables that `env` leaves open.
 */
export type SandboxNetwork = 'none' | { readonly proxy: SandboxProxy };

/** Where the proxy listens outside: a unix socket, or an address of this machine. */
export type SandboxProxy = { readonly socket: string } | { readonly host: string; readonly port: number };

/** What a program and all of its children may use up together. Reaching one ends the whole tree. Zero or less is refused. */
export interface SandboxLimits {
  /** Processor time of the tree. By default unlimited. */
  readonly cpuSeconds?: number;
  /** By default 4 GiB. Private temporary files count where cgroups do the counting. */
  readonly memoryBytes?: number;
  /** Processes and threads at one time. By default 1024. Without cgroups a fork beyond it fails, and may go unreported. */
  readonly processes?: number;
  /** The size of one file. By default 4 GiB. */
  readonly fileSizeBytes?: number;
  /** Descriptors of one process. By default 4096. A program that reaches it is not ended; its next open fails. */
  readonly openFiles?: number;
  /** Bytes that reach a disk. Looked at several times a second, so that it may be passed by what fits into that time. By default 16 GiB. */
  readonly bytesWritten?: number;
  /** Size of the private /tmp, and of the private home. By default 1 GiB each. A program that reaches it is not ended; its next write fails. */
  readonly tmpBytes?: number;
  /** What a process may keep from being swapped. By default as the machine has it. */
  readonly lockedBytes?: number;
  /** Of one process; it may ask for more. By default as the machine has it. */
  readonly stackBytes?: number;
  /** Bytes on stdout and stderr together. By default unlimited; see also `captureBytes`. */
  readonly outputBytes?: number;
}

export type SandboxLimitName = 'memory' | 'processes' | 'cpu' | 'file_size' | 'bytes_written' | 'output';

export interface SandboxResult {
  /** 128 + n when signal n ended the program, as shells say it; null when it did not start or was lost. */
  readonly code: number | null;
  /** The signal that a code of 128 + n stands for. A program can choose such a code itself. */
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Whether a stream had more than `captureBytes`. */
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
  readonly timedOut: boolean;
  readonly aborted: boolean;
  /** The limit that ended the program. */
  readonly limitHit?: SandboxLimitName;
  /** Why the program did not run at all. Nothing has happened then. */
  readonly refused?: SandboxRefusal;
  /**
   * Set when the program started and nobody can say how it ended, because its keeper was killed from outside. Its
   * tree is gone.
   */
  readonly lost?: true;
  /**
   * Protected workspace paths that appeared, vanished or were replaced meanwhile. A program cannot change what is
   * there; whoever did, the caller should look before it trusts them.
   */
  readonly disturbed: readonly string[];
  readonly usage: SandboxUsage;
  /** What its sandbox was seen to be. Absent when the program did not begin. */
  readonly observed?: SandboxObservation;
}

export interface SandboxUsage {
  readonly wallMs: number;
  /** Processor time of the tree, where cgroups count it. */
  readonly cpuMs?: number;
  /** The highest memory use of the tree, where cgroups count it. */
  readonly memoryPeakBytes?: number;
}

export interface SandboxRefusal {
  readonly reason: Reason;
  readonly message: string;
  /** What would help. */
  readonly hint?: string;
}

/** A program under way. */
export interface SandboxProcess {
  /** @internal Node's streams are not in the published types, which hold without those of Node. */
  readonly stdin: Writable;
  /** @internal Must be read; the program waits when nobody does. */
  readonly stdout: Readable;
  /** Settles when the whole tree is gone. Its `stdout` is empty. Never rejects. */
  readonly result: Promise<SandboxResult>;
  /** SIGTERM, and SIGKILL after `graceMs` (by default that of the spec). Settles with `result`. */
  stop(graceMs?: number): Promise<SandboxResult>;
}

/**
 * What /proc showed of the program's own sandbox after it was set up and before the program began. A program whose
 * sandbox does not show what is promised does not begin.
 */
export interface SandboxObservation {
  /**
   * As whom programs run, seen from outside: `self` as the user of this process; `owner` as the workspace's owner;
   * `mapped` as a user of their own, to whom the workspace's files appear as theirs; `bare_root` as root without
   * any capability, where the machine offers no better.
   */
  readonly identity: 'self' | 'owner' | 'mapped' | 'bare_root';
  /** The user id outside. */
  readonly uid: number;
  /** What counts and bounds memory and processes. */
  readonly limitsBy: 'cgroup_v1' | 'cgroup_v2' | 'rlimit';
  /** Effective, permitted, inheritable, bounding and ambient capabilities, in hex; all zero. */
  readonly capabilities: { readonly [set: string]: string };
  readonly noNewPrivileges: boolean;
  /** 2 is a filter. */
  readonly seccomp: number;
  /** Network interfaces; only `lo`. */
  readonly interfaces: readonly string[];
  /** Mount points that can be written, without those of the workspace and of writable binds. */
  readonly writableMounts: readonly string[];
}

/** One guarantee, tried for real on this machine. */
export interface SandboxProbeReport {
  readonly name: string;
  readonly ok: boolean;
  /** What was seen. */
  readonly evidence: string;
  /** What to do when it does not hold. */
  readonly fix: string;
}
