// Owns: `ctx.exec`: shell lines that run contained, after every command in them was admitted; programs are `program.ts`.
// Refuses: to run what it cannot take apart, and to be told which checks to skip.
import type { EgressConnection } from './http.ts';
import type { ObjectId } from './object-store.ts';
import type { ProgramHandle } from './program.ts';
import type { SandboxBind, SandboxLimits, SandboxObservation, SandboxProxy, SandboxSpec } from './sandbox.ts';

export interface ExecHandle extends ProgramHandle {
  /**
   * Runs one line with bash in the sandbox. Takes it apart again, asks `scope.admit` for every command and
   * redirection, hides and protects what policy hides and protects, and answers when nothing of it is left.
   * Throws `shell.*`, `sandbox.unavailable`, and what the signal aborted with.
   */
  shell(line: ShellLine): Promise<ShellOutcome>;
  /** Throws what `shell` would refuse the line for before it starts anything, and starts nothing. */
  check(line: ShellLine): Promise<void>;
}

export interface ShellLine {
  readonly cmd: string;
  /** As effects name it: relative to the workspace. */
  readonly cwd: string;
  /** Added to the sandbox's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | undefined;
  readonly timeoutMs: number;
  /** Through the egress proxy, to what policy allows; else there is no network at all. */
  readonly allowNetwork: boolean;
  /** How many bytes of each stream are answered; what is beyond is kept as an artifact. */
  readonly captureBytes: number;
  readonly limits?: SandboxLimits;
  onOutput?(stream: 'stdout' | 'stderr', chunk: Uint8Array): void;
  /** Of a line that goes on by itself: `onOutput` takes all of its output, and it never runs without a sandbox. */
  readonly background?: BackgroundRun;
}

export interface BackgroundRun extends Pick<SandboxSpec, 'onBegin'> {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Something took the place of what it is kept from: it must be ended. */
  readonly onFallen: () => void;
  /** What bash is given in place of the line: the program that takes one command after the other. */
  readonly plain?: string;
  readonly binds?: readonly SandboxBind[];
}

export interface ShellOutcome {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: CapturedStream;
  readonly stderr: CapturedStream;
  readonly timedOut: boolean;
  /** The limit that ended it, where one did. */
  readonly limitHit?: string;
  readonly wallMs: number;
  /** Every connection that was tried, refused ones too. */
  readonly connections: readonly EgressConnection[];
  /** What was seen from inside; absent where policy let it run without a sandbox. */
  readonly sandbox?: SandboxObservation;
}

export interface CapturedStream {
  readonly bytes: Uint8Array;
  readonly total: number;
  /** Where all of it is kept, when `bytes` is only the beginning. */
  readonly artifact?: ObjectId;
}

/** How the exec capability gets its proxy: from the preset, because it belongs to another capability. */
export type OpenProxy = (options: {
  /** A path that only this process's user can reach. */
  readonly socket: string;
  readonly allow: (target: { scheme: string; host: string; port: number }) => {
    allow: boolean;
    private?: boolean;
    message?: string;
    admit?: string;
  };
  readonly record: (connection: EgressConnection) => void;
}) => Promise<{ readonly address: SandboxProxy; close(): Promise<void> }>;
