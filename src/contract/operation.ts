// Owns: what an operation is: something that people and programs can ask beside calling a tool, through every door alike.
// Refuses: doors; the command line, HTTP and the reference are made from the table in src/operations/index.ts.
import { closest } from '../base/closest.ts';
import { type ErrorEntry, fail } from './errors.ts';
import type { JsonObject, JsonSchema, MaybePromise } from './json.ts';
import type { OperationHandles } from './operation-handles.ts';

/** One argument: a JSON Schema, and what the command line makes of it. */
export interface Argument {
  readonly type: 'string' | 'integer' | 'boolean' | 'object' | 'array';
  /** Also the help of its flag. */
  readonly description: string;
  /** What stands for the value in help: `--last N`. */
  readonly placeholder?: string;
  readonly required?: true;
  readonly default?: string | number | boolean;
  /** Also what completion offers. */
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly pattern?: string;
  /** Of an array; texts by default. */
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  /** On the command line it is a word rather than a flag; the order is that of the arguments. An array takes the rest. */
  readonly positional?: true;
  /** Only on the command line: it names a file there, or how something is printed. */
  readonly local?: true;
  /** Never on the command line, and never recorded: `atTerminal` asks for it. */
  readonly secret?: true;
}

/** `person`: the command line, or over HTTP the token for management. `anyone`: whoever may call tools as well. */
export type Who = 'anyone' | 'person';

/**
 * `json`: one document. `lines`: documents as they come, until it ends or nobody reads any more. `bytes`: what it holds, as it is.
 * The work of the last two answers an async iterable.
 */
export type AnswerKind = 'json' | 'lines' | 'bytes';

// biome-ignore lint/suspicious/noExplicitAny: the table holds operations of every kind
export interface Operation<Args = any, Value = any> {
  /** `runs.list` is `haft runs list` and `POST /v1/operations/runs.list`. */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** As typed in a shell. */
  readonly examples: readonly string[];
  readonly args: { readonly [name: string]: Argument };
  /** What follows the name on the command line, where the arguments do not say it well enough. */
  readonly usage?: string;
  /** Of each document that it answers. */
  readonly result: JsonSchema;
  readonly answers?: AnswerKind;
  readonly who: Who;
  /** It changes something, and is in the audit where it did, and where it failed. */
  readonly changes?: true;
  /** It only reads what was recorded: it works also where the policy is not trusted, and then calls nothing. */
  readonly reads?: true;
  /** It works also where a pack is wrong: that one is left out, and said. So does whatever only reads. */
  readonly lenient?: true;
  /** Of one that changes something: whether it only looks with these arguments. */
  looks?(args: Args): boolean;
  /** It answers also where there is no workspace: what else only reads is refused there. */
  readonly worksBare?: true;
  /** With `--json` the command line prints only the last of its lines. */
  readonly lastLine?: true;
  /** The work. Failures of the table may be thrown. */
  run(args: Args, site: OperationSite): MaybePromise<Value>;
  /** The document, or one line; by default the value as it is. */
  json?(value: ValueOf<Value>): unknown;
  /** How a person reads it. */
  text?(value: ValueOf<Value>, reader: Reader<Args>): MaybePromise<void>;
  /** The exit code of the command, of lines by the last one; 0 by default. */
  exit?(value: ValueOf<Value>): number;
  /** What the command line does before or in place of the work: asks a person, writes a file. Answers the exit code where that was all. */
  atTerminal?(args: Args, terminal: Terminal, site: OperationSite): Promise<Args | number>;
}

type ValueOf<Value> = Value extends AsyncIterable<infer One> ? One : Value;

export interface OperationSite extends OperationHandles {
  /** The absolute workspace folder. */
  readonly workspace: string;
  /** Who asks, for the audit: `cli:ada`; `http` with the token for management, `http:calls` with that for calls. */
  readonly by: string;
  /** Nothing may differ from haft.lock. */
  readonly frozen: boolean;
  readonly signal: AbortSignal;
  /** A person waits for it at a terminal: progress is welcome. */
  readonly watched: boolean;
  /** Beside the answer, on standard error; nobody hears it over HTTP. */
  say(text: string): void;
  /** How far long work has come, drawn where somebody waits for it at a terminal. */
  progress(step: Progress): void;
  /** What was changed: names, counts and digests, never a secret. `action` as typed, such as `haft tools add`. */
  record(action: string, facts: JsonObject, error?: Pick<ErrorEntry, 'code' | 'reason'>): Promise<void>;
}

export interface Progress {
  readonly pct?: number;
  readonly message?: string;
}

export interface Reader<Args> {
  readonly args: Args;
  /** A person is looking, rather than a pipe. */
  readonly tty: boolean;
  /** A screen that has room for little: what is seldom looked at is left out. */
  readonly brief: boolean;
  readonly workspace: string;
  out(text: string): void;
  err(text: string): void;
  /** What helps and is no failure; `--quiet` leaves it out. */
  note(text: string): void;
  bytes(bytes: Uint8Array): void;
  /** Fits the screen where there is one. */
  table(rows: readonly (readonly string[])[], header?: readonly string[]): void;
  /** Local time on a terminal; in a pipe ISO 8601 in UTC. */
  time(ts: number): string;
  /** Text that has the lines of a diff in it. */
  diff(text: string): void;
}

export interface Terminal extends Pick<Reader<unknown>, 'table' | 'time'> {
  readonly json: boolean;
  readonly tty: boolean;
  out(text: string): void;
  err(text: string): void;
  /** Absent where there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** The same for what must not be seen. */
  readonly askSecret?: ((question: string) => Promise<string>) | undefined;
  readStdin(limit: number): Promise<Uint8Array>;
  stdin(): AsyncIterable<Uint8Array>;
  /** The flag --trust. */
  readonly trust?: string | undefined;
  readText(path: string, limit: number): Promise<string>;
  absolute(path: string): string;
  /** Makes something new at a path by `make`, and says in one set of words what kept it from that. */
  makeNew(path: string, make: (absolute: string) => Promise<void>): Promise<void>;
  /** A new file, whole or not at all. Answers its size. */
  writeNew(path: string, pieces: AsyncIterable<Uint8Array>): Promise<number>;
}

export const defineOperation = <Args, Value>(operation: Operation<Args, Value>): Operation<Args, Value> =>
  operation;

/** What an operation takes, for programs. */
export function argumentsSchema({ args }: Pick<Operation, 'args'>): JsonSchema {
  const entries = Object.entries(args).filter(([, { local }]) => !local);
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, argument]) => {
        const { placeholder: _, required: __, positional: ___, secret: ____, ...schema } = argument;
        return [name, argument.type === 'array' ? { items: { type: 'string' }, ...schema } : schema];
      }),
    ),
    required: entries.flatMap(([name, { required }]) => (required ? [name] : [])),
    additionalProperties: false,
  };
}

export function withDefaults(
  { args }: Pick<Operation, 'args'>,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const usual = Object.entries(args).flatMap(([name, argument]) =>
    argument.default === undefined ? [] : [[name, argument.default]],
  );
  return { ...Object.fromEntries(usual), ...given };
}

/** The table: what is in it exists, and is loaded when it is first asked for. */
export interface OperationEntry {
  /** A few words, for lists. */
  readonly summary: string;
  load(): Promise<Operation>;
}

/** Throws `usage` unless the text is one of these words. */
export function checkWord(
  action: string,
  what: string,
  given: string | undefined,
  among: readonly string[],
): void {
  if (given === undefined || among.includes(given)) return;
  const near = closest(given, among);
  const hint = near ? `did you mean "${near}"?` : `take one of ${among.join(', ')}`;
  throw fail('usage', `Cannot ${action}: there is no ${what} "${given.slice(0, 80)}"; ${hint}`);
}
