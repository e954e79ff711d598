// Owns: `ctx.shells`: background shells: lines that go on after the call that started them, and what other calls ask of them.
// Refuses: to show or touch a shell of another session, and input that is not decided as `exec.shell` would decide it.
import type { Effect } from './effect.ts';
import type { ErrorEntry, Failure } from './errors.ts';
import type { JsonObject, MaybePromise } from './json.ts';

export interface ShellsHandle {
  /**
   * Starts a line as `exec.shell` would run it, and answers once it has begun. The line `bash` alone starts a shell that is
   * given one command after the other by `write`. Throws what `exec.shell` throws; `shell.host` where the process ends with
   * the call, `shell.limit` where the session has as many as policy lets it have.
   */
  start(line: BackgroundLine): Promise<ShellState>;
  /** Waits as asked, then answers what was printed since. Throws `shell.unknown`, and what the call's signal aborts with. */
  read(id: string, query: ShellQuery): Promise<ShellOutput>;
  /**
   * Gives text to its standard input. Throws `shell.unknown`, `shell.ended`, `shell.full`, and what policy says of text that is
   * code where it arrives.
   */
  write(id: string, input: string, end: boolean): Promise<void>;
  /** Sends a signal to the program and what it started; KILL ends all of it. */
  signal(id: string, signal: ShellSignal): Promise<void>;
  /** Those of the call's session, the oldest first; ended ones for as long as they are remembered. */
  list(): MaybePromise<readonly ShellState[]>;
}

/** What `effects` may ask, before there is a call. */
export interface ShellsView {
  /** What giving this text to the shell would run and touch. Empty where it is data, or where there is no such shell. */
  inputEffects(
    id: string,
    input: string,
    end: boolean,
    place: (path: string) => string,
  ): Promise<readonly Effect[]>;
}

export interface BackgroundLine {
  readonly cmd: string;
  readonly name?: string | undefined;
  /** As effects name it: relative to the workspace. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly allowNetwork: boolean;
}

export const SHELL_SIGNALS = ['INT', 'TERM', 'HUP', 'KILL'] as const;
export type ShellSignal = (typeof SHELL_SIGNALS)[number];

export interface ShellState {
  readonly id: string;
  readonly name?: string;
  readonly cmd: string;
  readonly startedMs: number;
  readonly running: boolean;
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it ended, where that was not by itself, or what was found when it had. */
  readonly ended?: Pick<ErrorEntry, 'reason' | 'message'>;
  /** Where its output ends: a `since` that sees only what comes later. */
  readonly next: number;
}

export interface ShellQuery {
  /** A `next` of an earlier answer; 0 is the beginning. */
  readonly since: number;
  readonly maxBytes: number;
  readonly waitMs: number;
  /** `output` waits for the first of it, `exit` until the shell has ended or there are `maxBytes`. */
  readonly until: 'output' | 'exit';
  /** Told of what is printed while it waits. */
  onOutput?(stream: 'stdout' | 'stderr', text: string): void;
}

export interface ShellOutput extends ShellState {
  /** In the order in which it came. */
  readonly output: readonly ShellPiece[];
  /** Bytes after `since` that are no longer kept. */
  readonly lost: number;
  /** More is kept than `maxBytes`: read on from `next`. */
  readonly more: boolean;
}

export interface ShellPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/**
 * Begins work that goes on when its call has been answered. The runtime calls `stop` when the session or the host ends, the
 * budget is used up, or policy no longer allows what the work does.
 */
export type BeginStanding = (stop: (why: Failure) => void) => Promise<Standing>;

export interface Standing {
  /** Its own id in the audit, where it has an intent and an outcome like a call. */
  readonly id: string;
  readonly session: string;
  /** Makes durable that it is about to begin. */
  intend(): Promise<void>;
  /** What a later call had it do as well: asked again when policy changes. */
  add(tool: string, effects: readonly Effect[]): void;
  /** Its end, once: with what was seen, and what went wrong. Settles when the outcome is recorded. */
  end(facts: JsonObject, thrown?: unknown): Promise<void>;
}
