// Owns: what a tool is: a contract, its effects, and how it runs.
// Refuses: origins. A builtin, a YAML tool and an MCP server's tool all look like this to the pipeline.
import { isRecord } from '../base/is-record.ts';
import { once } from '../base/once.ts';
import type { EffectViews, HistoryHandle, ToolContext } from './capability.ts';
import type { Effect } from './effect.ts';
import { checkFields, type KnownFields } from './envelope.ts';
import { fail } from './errors.ts';
import type { JsonSchema, MaybePromise } from './json.ts';
import type { PreparedRun, PrepareSite, RunInputs } from './runs.ts';

/**
 * The part of a tool that is data: what callers are shown and what the lock file pins.
 *
 * Three axes of version are checked on their own: `abi` (of the loader), `version` (SemVer of the tool) and
 * `contract` (`vN`, what run identity depends on).
 */
export interface ToolContract {
  /** Dotted segments, each `[a-z][a-z0-9_]*`. Builtins have one segment. */
  readonly id: string;
  readonly version: string;
  readonly contract: `v${number}`;
  readonly title: string;
  /** For the person or agent who chooses a tool: what it does, and when to take another. */
  readonly description: string;
  readonly tags: readonly string[];
  readonly input: JsonSchema;
  readonly output: JsonSchema;
  /** May be answered from an earlier, verified result. */
  readonly deterministic: boolean;
  /** May be sent again when its answer was lost. */
  readonly idempotent: boolean;
  /** Changes the workspace: takes locks, leaves pre-images, can be undone. */
  readonly mutates: boolean;
  readonly limits: ToolLimits;
  /**
   * The field of the answer that a reader wants to see as it is, where there is one: a file's content, a list of paths.
   * Doors that show text to a model show it unquoted, a list line by line; the other fields travel beside it.
   */
  readonly textField?: string;
  /** Calls that must work as documented: `haft tools show` prints them. */
  readonly examples?: readonly ToolExample[];
}

/**
 * True where no call can change anything, here or elsewhere, as far as its contract says. What must not be sent twice has
 * done something the first time.
 */
export const onlyReads = ({ mutates, idempotent, tags }: ToolContract): boolean =>
  !mutates && idempotent && !tags.includes('write');

export interface ToolLimits {
  readonly timeoutMs: number;
  readonly maxInputBytes: number;
  readonly maxOutputBytes: number;
}

export interface ToolExample {
  readonly title: string;
  readonly args: { readonly [key: string]: unknown };
}

/** What `effects` may look at beside the arguments: where the workspace is, and what the audit recorded. */
export interface EffectSite extends Partial<EffectViews> {
  readonly history: Pick<HistoryHandle, 'changes'>;
  /**
   * A path as effects name it: normalised; relative in the workspace, absolute below an extra root. By its names
   * alone, links are not followed. Throws `path.invalid` and `path.outside_workspace`.
   */
  place(path: string): string;
}

/**
 * A tool as the pipeline calls it. `effects` is pure: it says what the call would touch, from the arguments and
 * recorded history alone. `run` does it, and every handle on `ctx` re-checks the real access against those
 * effects and policy.
 */
export interface Tool<Args = never, Data = unknown> extends ToolContract {
  effects(args: Args, site: EffectSite): MaybePromise<readonly Effect[]>;
  run(args: Args, ctx: ToolContext): MaybePromise<Data>;
  /**
   * For a deterministic tool whose run is more than its arguments. Pure, and asked before policy decides: what it answers
   * names the run, and `run` finds it as `ctx.run`.
   */
  prepare?(args: Args, site: PrepareSite): Promise<PreparedRun>;
  /**
   * Its argument `dry_run` makes `run` change nothing, and answer with `changes` and, where that can be read, a `diff`: what
   * a person who is asked about the call sees. Builtins only.
   */
  readonly previews?: true;
  /** What stands between a call and a tool that is installed. Absent: nothing does. */
  readonly gate?: ToolGate;
  /** What every call would touch, whatever its arguments: what policy has to grant before it can be used at all. */
  needs?(site: EffectSite): readonly Effect[];
  /** Of another deterministic tool: what its outcome depends on beside its arguments and policy. */
  runInputs?(args: Args): MaybePromise<RunInputs>;
}

export interface ToolGate {
  /**
   * Throws where a call of that session cannot be made: what the tool is reached by does not work, or a secret that it
   * requires is not set. Answers at once, without a promise, where there is nothing to ask.
   */
  admit(call: GatedCall): MaybePromise<void>;
  /** The commands by which a person would set what the tool lacks. */
  lacks(): readonly string[];
  /** What was last seen of what it is reached by. Undefined where nobody looks. */
  health(): HealthReport | undefined;
}

export interface GatedCall {
  readonly sessionId: string;
  /** It is a look: not held up by what is known of the tool's health. */
  readonly probe?: boolean | undefined;
  /** Asked for only where the call has to wait. */
  signal(): AbortSignal;
}

/** A tool whose argument type is known only to itself; what registries hold. */
export type AnyTool = Tool<never, unknown>;

const BUILTIN_DEFAULTS = {
  version: '1.0.0',
  contract: 'v1',
  deterministic: false,
  idempotent: true,
  mutates: false,
  tags: [],
  limits: { timeoutMs: 10_000, maxInputBytes: 16 * 1024 * 1024, maxOutputBytes: 16 * 1024 * 1024 },
} as const;

type DefaultedField = keyof typeof BUILTIN_DEFAULTS;
/** A builtin's run is its arguments. */
type ToolSource<Args, Data> = Omit<
  Tool<Args, Data>,
  DefaultedField | 'input' | 'output' | 'prepare' | 'runInputs' | 'gate'
> &
  Partial<Pick<Tool<Args, Data>, DefaultedField>> & {
    /** A function makes it when it is first asked for: of all the tools that there are a command needs one. */
    readonly input: JsonSchema | (() => JsonSchema);
    readonly output: JsonSchema | (() => JsonSchema);
  };

/** Writes a builtin down, with the usual answers filled in. The result is frozen. */
export function defineBuiltin<Args, Data>(source: ToolSource<Args, Data>): Tool<Args, Data> {
  checkFields(`define the tool "${source.id}"`, source, TOOL_FIELDS, 'fields');
  const usual = BUILTIN_DEFAULTS;
  const input = made(source.input);
  const output = made(source.output);
  const { textField, examples, previews, needs } = source;
  // Field by field, so that all have one shape: every start makes all of them.
  return Object.freeze({
    id: source.id,
    version: source.version ?? usual.version,
    contract: source.contract ?? usual.contract,
    title: source.title,
    description: source.description,
    tags: source.tags ?? usual.tags,
    get input() {
      return input();
    },
    get output() {
      return output();
    },
    deterministic: source.deterministic ?? usual.deterministic,
    idempotent: source.idempotent ?? usual.idempotent,
    mutates: source.mutates ?? usual.mutates,
    limits: source.limits ?? usual.limits,
    effects: source.effects,
    run: source.run,
    ...(textField === undefined ? undefined : { textField }),
    ...(examples === undefined ? undefined : { examples }),
    ...(previews === undefined ? undefined : { previews }),
    ...(needs === undefined ? undefined : { needs }),
  });
}

const made = (schema: JsonSchema | (() => JsonSchema)): (() => JsonSchema) =>
  typeof schema === 'function' ? once(schema) : () => schema;

/** For tools that a program without types hands over: throws `usage` at the first that is none. */
export function checkTools(tools: unknown): void {
  if (!Array.isArray(tools)) throw fail('usage', 'Cannot create a runtime: tools is not a list');
  for (const [at, tool] of tools.entries()) {
    const wrong = isRecord(tool)
      ? Object.entries(TOOL_SHAPE).find(([field, fits]) => !fits(tool[field]))?.[0]
      : 'id';
    if (wrong === undefined) continue;
    const fact = `tools[${at}] is no tool: its "${wrong}" is missing or not what it should be`;
    throw fail('usage', `Cannot create a runtime: ${fact}; write it with defineBuiltin`);
  }
}

const isText = (value: unknown) => typeof value === 'string';
const isFlag = (value: unknown) => typeof value === 'boolean';
const isFunction = (value: unknown) => typeof value === 'function';
const isSchema = (value: unknown) => isFlag(value) || isRecord(value);

const TOOL_SHAPE: { readonly [field: string]: (value: unknown) => boolean } = {
  id: (value) => isText(value) && /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*$/.test(value as string),
  version: isText,
  contract: isText,
  title: isText,
  description: isText,
  tags: (value) => Array.isArray(value) && value.every(isText),
  input: isSchema,
  output: isSchema,
  deterministic: isFlag,
  idempotent: isFlag,
  mutates: isFlag,
  limits: (value) =>
    isRecord(value) &&
    [value.timeoutMs, value.maxInputBytes, value.maxOutputBytes].every((one) => typeof one === 'number'),
  effects: isFunction,
  run: isFunction,
};

/** A misspelled `mutates` would be a change without an undo. */
const TOOL_FIELDS: KnownFields<ToolSource<never, unknown>> = {
  id: true,
  version: true,
  contract: true,
  title: true,
  description: true,
  tags: true,
  input: true,
  output: true,
  deterministic: true,
  idempotent: true,
  mutates: true,
  limits: true,
  textField: true,
  examples: true,
  previews: true,
  effects: true,
  needs: true,
  run: true,
};

/** What is told of the health of a pack or a tool. */
export type HealthStatus = 'ready' | 'degraded' | 'unhealthy' | 'disabled' | 'unverified';

export interface HealthReport {
  readonly status: HealthStatus;
  /** When it was last looked at. */
  readonly checkedTs: number | null;
  /** What was wrong. */
  readonly message?: string;
}
