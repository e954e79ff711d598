// Owns: what a command of the command line is, and what it is given to work with.
// Refuses: parsing and printing policy; see run-cli.ts and output.ts.
import type { Reason } from '../../contract/errors.ts';
import type { DefaultRuntime } from '../../preset/default.ts';

/** What the parser has to know. */
export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
  readonly multiple?: boolean;
}

export interface CommandOption extends Flag {
  /** What stands for the value in help: `--last N`. */
  readonly value?: string;
  /** What the value may be, where that is known; completion offers it. */
  readonly choices?: readonly string[];
  readonly help: string;
}

/** A command such as `call`, or one word of a group such as `audit verify`. */
export interface Command {
  readonly summary: string;
  /** What follows the name: `TOOL [JSON | @file | -]`. */
  readonly usage: string;
  readonly description?: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  readonly examples: readonly string[];
  /** How many positionals it takes; more or fewer is a usage error. */
  readonly positionals: readonly [least: number, most: number];
  /** What the first of them may be, where that is known; completion offers it. */
  readonly choices?: readonly string[];
  /** It only reads what was recorded: it works also where the policy is not trusted, and then calls nothing. */
  readonly reads?: boolean;
  /** It works also where a pack is wrong: that one is left out, and said. So does whatever only reads. */
  readonly lenient?: boolean;
  /** It needs no workspace: it works where there can be none, such as in `/`. One that is named has to be there. */
  readonly anywhere?: boolean;
  /** It goes on until it is told to stop, and takes over what changes meanwhile. */
  readonly lives?: boolean;
  /** The exit code of a failure, where it is another than that of the table; `words` follow the command's name. */
  failed?(words: readonly string[], reason: Reason): number | undefined;
  /** Answers with the exit code. Failures of the table may be thrown. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly positionals: readonly string[];
  readonly flags: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly json: boolean;
  /** The absolute workspace folder. */
  readonly workspace: string;
  /** Opens the runtime on first use; closed when the command ends. Who only looks leaves no `.haft` where there was none. */
  runtime(use?: { readonly looks?: boolean }): Promise<DefaultRuntime>;
  readonly io: Io;
}

export interface Io {
  /** Control characters arrive as escapes: a name in the workspace must not move the reader's cursor. */
  out(text: string): void;
  err(text: string): void;
  /** Bytes as they are, for who reads them from a pipe or a file. */
  bytes(bytes: Uint8Array): void;
  /** The same on standard error. */
  errBytes(bytes: Uint8Array): void;
  /** A person is looking: colour, tables and progress are welcome. */
  readonly tty: boolean;
  /** Standard error is a terminal. */
  readonly errTty: boolean;
  readonly columns: number;
  /** Standard input, whole, up to a limit in bytes. */
  readStdin(limit: number): Promise<Uint8Array>;
  /** Standard input, a piece at a time; each piece is good until the next is asked for. */
  stdin(): AsyncIterable<Uint8Array>;
  /** Asks a person for something that must not be seen. Absent where standard input is no terminal. */
  readonly askSecret?: ((question: string) => Promise<string>) | undefined;
  /** Asks a person a question. Absent unless both standard input and standard error are a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Aborts on the first Ctrl-C, and when nobody reads standard output any more. */
  readonly signal: AbortSignal;
}

/** Flags that every command takes; what they are for is in common-options.ts, which no call loads. */
export const COMMON_FLAGS = {
  json: { type: 'boolean' },
  workspace: { type: 'string' },
  trust: { type: 'string' },
  frozen: { type: 'boolean' },
  color: { type: 'string' },
  utc: { type: 'boolean' },
  verbose: { type: 'boolean', short: 'v' },
  quiet: { type: 'boolean', short: 'q' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies Readonly<Record<string, Flag>>;
