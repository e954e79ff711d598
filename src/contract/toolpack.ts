// Owns: the toolpack ABI v1 as authors write against it: a definition, the plans that it makes, and the run that it conducts.
// Refuses: files, programs and networks; what a toolpack reaches it reaches through `ctx` and `run`.
import type { JsonObject, JsonSchema, MaybePromise } from './json.ts';
import type { ObjectId } from './object-store.ts';
import type { RunResources } from './plan.ts';

/** The one version there is. */
export const TOOLPACK_ABI = 'v1';

/** Made by every run by itself: what the program printed and what `run.log` was given. */
export const LOG_ROLE = 'log';

/**
 * A deterministic tool. Its module is loaded out of process, in a sandbox that shows it its own package and nothing else.
 * `canonicalize` and `run` are asked in two such processes, whose time, host name, locale, environment, random bits, system and
 * versions differ. One has answered all earlier calls, the other none: they must agree.
 */
export interface ToolDefinition<TArgs = JsonObject, TPlan extends ToolPlan = ToolPlan> {
  readonly abiVersion: typeof TOOLPACK_ABI;
  /** `[a-z][a-z0-9_]*`, and no other tool of the host has it. */
  readonly toolName: string;
  /** `vN`: counted up when arguments or outputs mean something else than before. */
  readonly contractVersion: `v${number}`;
  readonly planKind: TPlan['kind'];
  readonly title?: string;
  /** For the person or agent who chooses a tool. */
  readonly description: string;
  readonly tags?: readonly string[];
  /** Of the arguments: JSON Schema, or a schema of a library that implements Standard JSON Schema. */
  readonly input: JsonSchema | StandardJsonSchema;
  /** Of what `run` answers; by default any object. */
  readonly result?: JsonSchema | StandardJsonSchema;
  readonly declaredOutputs: readonly ToolOutput[];
  /** What the outputs depend on and what can change while its name stays: a database, a reference set. */
  readonly mutableState?: readonly MutableState[];
  readonly limits?: { readonly timeoutMs?: number; readonly maxInputBytes?: number };
  readonly examples?: readonly { readonly title: string; readonly args: JsonObject }[];
  /** Pure: from the arguments, and artifacts that they name, to what would run. */
  canonicalize(args: TArgs, ctx: CanonicalizeContext): MaybePromise<CanonicalCall<TPlan>>;
  /**
   * Executes the plan, links every declared output, and answers the result, which depends on nothing but the run: it is asked
   * in both processes, and they must agree. It has the plan's `wallMs` for itself, and at most a minute. May be asked again
   * after a crash.
   */
  run(run: ToolRun<TArgs, TPlan>): MaybePromise<JsonObject>;
}

export interface ToolOutput {
  readonly role: string;
  /** A media type, or a word that the tools of a pack agree on. */
  readonly type: string;
  readonly label: string;
  /**
   * Where the program leaves it: `out/…`, a file, or with a slash at its end a folder, which becomes one artifact with all
   * that is in it. Of a docker tool it may be left out, and is `out/<role>` then.
   */
  readonly srcRelpath?: string;
}

export interface MutableState {
  readonly name: string;
  /** The field of `canonicalParams` that says which state it was: a digest. */
  readonly snapshot: string;
}

/** https://standardschema.dev/json-schema */
export interface StandardJsonSchema {
  readonly '~standard': {
    readonly jsonSchema: { input(options: { readonly target: string }): unknown };
  };
}

// ---------------------------------------------------------------------------------------- canonicalize

export interface CanonicalCall<TPlan extends ToolPlan = ToolPlan> {
  /** What the run id depends on beside the plan: plain JSON, nothing that may differ between two equal calls. */
  readonly canonicalParams: JsonObject;
  /** Exactly the inputs of the plan. */
  readonly inputsToLink: readonly { readonly artifactId: ObjectId; readonly role: string }[];
  readonly plan: TPlan;
}

/** Each dialect, by the backend whose it is; a backend adds its own by declaration merging. */
export interface ToolPlans {
  readonly docker: DockerPlan;
  readonly slurm: SlurmPlan;
  readonly hybrid: HybridPlan;
}

export type ToolPlan = ToolPlans[keyof ToolPlans];
export type PlanKind = ToolPlan['kind'];

interface ProgramPlan {
  /** The program and its arguments; no shell reads them. It starts in `/work`, beside `in/` and `out/`. */
  readonly argv: readonly string[];
  readonly env?: { readonly [name: string]: string };
  readonly resources?: Partial<RunResources>;
}

export interface DockerPlan extends ProgramPlan {
  readonly kind: 'docker';
  /**
   * `name@sha256:…`, or `sha256:…` of an image that was never pushed. A tag can move and is refused. With null it runs on
   * the programs of the machine, and nowhere but on `local`.
   */
  readonly image: string | null;
  readonly inputs: readonly DockerInput[];
}

export interface DockerInput {
  readonly role: string;
  readonly artifactId: ObjectId;
  /** Below `/work/in/`. */
  readonly destName: string;
}

export interface SlurmPlan extends ProgramPlan {
  readonly kind: 'slurm';
  /** Without one, or with null, on the programs of the node. */
  readonly image?: string | null;
  readonly io: {
    readonly inputs: readonly SlurmInput[];
    /** Exactly the declared outputs. */
    readonly outputs: readonly Required<ToolOutput>[];
  };
}

export interface SlurmInput {
  readonly role: string;
  readonly artifactId: ObjectId;
  /** `in/…` */
  readonly dest_relpath: string;
}

/** The same program on the same inputs, said for both engines. */
export interface HybridPlan {
  readonly kind: 'hybrid';
  readonly docker: DockerPlan;
  readonly slurm: SlurmPlan;
}

/** The ways out of `canonicalize`. What they answer is asked once for a call, so that both processes hear the same. */
export interface CanonicalizeContext {
  readonly artifacts: {
    /** Only of artifacts that the arguments name. Throws where there is none of that id. */
    stat(artifactId: ObjectId): Promise<{ readonly artifactId: ObjectId; readonly size: number }>;
    /** The first bytes of one as text in UTF-8, for headers and counts; by default up to 64 KiB. */
    readText(artifactId: ObjectId, options?: { readonly maxBytes?: number }): Promise<string>;
  };
  readonly images: {
    /** The digest that a name stands for on this host now. The digest goes into the run id, the name does not. */
    pin(reference: string): Promise<string>;
    /**
     * With `optional` null where this host has no images at all: policy sends runs to no engine that has some, and names
     * no digest. An engine that does not have the image, or does not answer, is refused as ever.
     */
    pin(reference: string, options: { readonly optional: boolean }): Promise<string | null>;
  };
}

// ------------------------------------------------------------------------------------------------- run

/** One attempt, as the toolpack conducts it. */
export interface ToolRun<TArgs = JsonObject, TPlan extends ToolPlan = ToolPlan> {
  readonly runId: string;
  readonly attemptId: string;
  readonly args: TArgs;
  readonly canonicalParams: JsonObject;
  readonly plan: TPlan;
  readonly declaredOutputs: readonly ToolOutput[];
  /** What an earlier process kept of this attempt, before it died. */
  readonly checkpointed: JsonObject | null;
  /** Runs the plan to its end, or joins it where it runs already. Rejects unless it succeeds. */
  execute(): Promise<{ readonly exitCode: number | null }>;
  /** Makes what lies at the output's place an artifact of this run. */
  linkOutput(role: string): Promise<{ readonly artifactId: ObjectId; readonly size: number }>;
  /** The first bytes of a linked output as text in UTF-8; by default up to 1 MiB. */
  readOutput(role: string, options?: { readonly maxBytes?: number }): Promise<string>;
  /** Adds lines to the `log` output. */
  log(text: string): Promise<void>;
  /** Keeps something durably with the attempt. */
  checkpoint(state: JsonObject): Promise<void>;
}

// ---------------------------------------------------------------------------------------- for authors

// All are shipped to the pack's process as their own text: they may refer to nothing outside of themselves.

/** Writes a tool down, with its types checked. */
export function defineTool<TArgs = JsonObject, TPlan extends ToolPlan = ToolPlan>(
  definition: ToolDefinition<TArgs, TPlan>,
): ToolDefinition<TArgs, TPlan> {
  return Object.freeze({ ...definition });
}

/**
 * Refuses the call: what it was given fits `input`, and cannot be worked with all the same. The caller is told
 * `E_VALIDATION_FAIL` with the path (a JSON Pointer such as `/by/0/column`, or the name of an argument) and the fact, which
 * says what is wrong and what would be right. In `canonicalize` nothing was executed yet; there it belongs.
 */
export function refuseArgument(path: string, fact: string): never {
  throw Object.assign(new Error(fact), { refusedArgument: path.startsWith('/') ? path : `/${path}` });
}

/** The usual `run`: executes the plan and links every declared output. The result is an empty object. */
export async function runPlan(
  run: Pick<ToolRun, 'execute' | 'linkOutput' | 'declaredOutputs'>,
): Promise<JsonObject> {
  await run.execute();
  for (const { role } of run.declaredOutputs) await run.linkOutput(role);
  return {};
}

/** A toolpack as it lies in its folder. */
export interface PackFiles {
  /** Absolute, links followed. */
  readonly folder: string;
  /** By path, in bytewise order. */
  readonly files: readonly PackFile[];
  /** `toolpack/v1` */
  readonly digest: string;
  /** The module, relative to the folder. */
  readonly entry: string;
  readonly name: string;
  readonly version: string;
}

export interface PackFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** What was hashed: it is what runs, whatever becomes of the folder. */
  readonly content: Uint8Array;
}
