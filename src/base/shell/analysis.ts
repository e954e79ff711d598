// Owns: the words of a shell analysis: what a line would run, touch and set, or why that cannot be said.
// Refuses: to judge; whether a listed command may run is policy's.

/** One program or builtin that the line would start. Wrapped commands are listed as themselves. */
export interface SimpleCommand {
  /** Values after quote removal. A word that is only known while running is given as its canonical text. */
  readonly words: readonly string[];
  /** Indices of `words` that are only known while running. Never 0. */
  readonly dynamic: readonly number[];
  /** Re-quoted, single spaces, one line: the string that policy patterns are matched on. */
  readonly canonical: string;
  /** Assignments in front of the command, and those that `env` makes. */
  readonly env: Readonly<Record<string, string>>;
  /** A builtin of bash that starts nothing and opens no file by itself: `echo`, `cd`, `test`, `export`, … */
  readonly inert: boolean;
  /** The wrappers around it, outermost first: `timeout 5 nice cargo test` gives `['timeout', 'nice']`. */
  readonly viaWrapper?: readonly string[];
}

/** A file that the shell itself opens. Streams, pipes and `/dev/null` are not listed. */
export interface Redirect {
  readonly operator: string;
  readonly access: 'read' | 'write' | 'read-write';
  /** As written, after quote removal. */
  readonly path: string;
  /** Every path it may mean once the `cd`s before it ran or failed. Joined, never normalised: `..` after a link is the kernel's to resolve. */
  readonly candidates: readonly string[];
}

/** A variable that the line sets for the shell itself. */
export interface ShellAssignment {
  readonly name: string;
  /** The value after quote removal, or the canonical text of one that is only known while running. */
  readonly value: string;
  readonly dynamic: boolean;
}

/** Rows of the error table (contract/errors.ts). */
export type ShellReason = 'shell.unparsable' | 'shell.dynamic' | 'shell.wrapper';

export interface ShellPlace {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** The piece of the line that decided, cut to 80 characters. */
  readonly text: string;
}

export interface ShellListing {
  readonly ok: true;
  readonly commands: readonly SimpleCommand[];
  readonly redirects: readonly Redirect[];
  readonly assignments: readonly ShellAssignment[];
}

export interface ShellRefusal {
  readonly ok: false;
  readonly reason: ShellReason;
  readonly message: string;
  readonly at: ShellPlace;
}

export type ShellAnalysis = ShellListing | ShellRefusal;

/** Where in the current source something stands. */
export interface Span {
  readonly pos: number;
  readonly end: number;
}

/** How the walk ends early; analyze-shell turns it into a ShellRefusal. */
export interface RefusalError extends Error {
  readonly refusal: { readonly reason: ShellReason; readonly span: Span };
}

export function refuse(reason: ShellReason, message: string, span: Span): never {
  const refusal = { reason, span: { pos: span.pos, end: span.end } };
  throw Object.assign(new Error(message), { refusal });
}

export function isRefusal(error: unknown): error is RefusalError {
  return error instanceof Error && 'refusal' in error;
}
