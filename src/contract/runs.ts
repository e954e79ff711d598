// Owns: how a prepared run is executed, once for all who ask, and what hosts can ask of runs afterwards.
// Refuses: to name a backend or a disk; the preset gives both.
import type { Artifact, ArtifactStore } from './artifacts.ts';
import type { AttemptCause } from './attempt-cause.ts';
import type { Backend, EngineJob, Placement } from './backend.ts';
import type { Json, JsonObject, MaybePromise } from './json.ts';
import type { ObjectId } from './object-store.ts';
import type { ExecutionPlan } from './plan.ts';
import type { PolicyFile } from './policy.ts';
import type { AttemptRecord, LinkedOutput, RunRecord } from './run.ts';
import type { RunQuery, RunRow } from './run-store.ts';

// ------------------------------------------------------------------------------------------- before

/** What a deterministic tool makes of its arguments before it is called, so that the run can be named and found. */
export interface PreparedRun {
  /** All that the run id depends on beside tool, contract and policy. */
  readonly params: JsonObject;
  readonly plan: ExecutionPlan;
  /** By the backend that it is written for, where the tool says so: equal but for what they may use up. */
  readonly plans?: { readonly [backend: string]: ExecutionPlan };
  /** What the tool needs of this when it runs; nobody else looks at it. */
  readonly carry: JsonObject;
}

/** What the outcome of a deterministic tool depends on beside its arguments and policy. */
export interface RunInputs {
  /** Digest of its definition and code. */
  readonly code: string;
  /** What stands for the arguments, where the tool says so: equal keys are equal runs. */
  readonly key?: string;
  /** What it depends on beside both: what it may read, by digest, and its environment. */
  readonly reads?: JsonObject;
  /** Why nobody can say what it depends on. It is executed at every call then, and never replayed. */
  readonly unknown?: string;
}

/** Digests of what lies below paths as `caps` names them, null where nothing is there; or why there are none. */
export type ReadInputs = (
  paths: readonly string[],
) => { readonly digests: { readonly [path: string]: string | null } } | { readonly why: string };

export interface PrepareSite {
  readonly artifacts: Pick<ArtifactStore, 'hold' | 'read'>;
  readonly signal: AbortSignal;
  /** Policy's and the engines' word for an image. Rejects where nobody has one of that name. */
  pinImage(reference: string): Promise<string>;
}

/** What the call of such a tool knows of its run. */
export interface RunTicket extends PreparedRun {
  readonly runId: string;
  readonly preimage: JsonObject;
  readonly purpose: AttemptRecord['purpose'];
  /** Of the call; null where it named none. */
  readonly session: string | null;
  /** Told once its attempt is with the engine, whoever brought it there. */
  onStarted?(attempt: AttemptRecord): void;
  /** Begins no attempt of its own. */
  readonly resume?: boolean;
  /** Where it is executed; by default on the first backend of the host. */
  readonly backend?: string;
  readonly placement?: Placement;
  readonly otherwise?: ChosenPlace['otherwise'];
}

// -------------------------------------------------------------------------------------------- while

export interface RunExecutor {
  /**
   * Executes the run, or joins the attempt that is under way, in this process or another. Infrastructure failures are
   * tried again as new attempts. Rejects with `run.*`, or with the signal's reason; an attempt that nobody waits for any
   * more is cancelled.
   */
  execute(request: RunRequest, signal: AbortSignal): Promise<RunOutcome>;
}

export interface RunRequest {
  readonly ticket: RunTicket;
  readonly tool: string;
  readonly contract: string;
  readonly callId: string;
  readonly args: JsonObject;
  /** What the tool does around the execution: the toolpack's `run`. */
  readonly conduct: Conduct;
  onOutput?(stream: 'stdout' | 'stderr', text: string): void;
  onStarted?(attempt: AttemptRecord): void;
}

/** What a prepared run answers to its caller. */
export interface RunData {
  readonly result: Json;
  /** In the order of their declaration, the log last. */
  readonly outputs: readonly {
    readonly role: string;
    readonly type: string;
    readonly label: string;
    readonly artifact_id: ObjectId;
    readonly size: number;
  }[];
}

/** May be asked again for the same attempt by a later process; `execute` joins what is there. Answers the result. */
export type Conduct = (attempt: ConductedAttempt) => Promise<Json>;

/** An attempt from the side of the tool that conducts it. */
export interface ConductedAttempt {
  readonly id: string;
  readonly ticket: RunTicket;
  readonly args: JsonObject;
  readonly checkpointed: JsonObject | null;
  readonly signal: AbortSignal;
  execute(): Promise<{ readonly exitCode: number | null }>;
  link(role: string): Promise<LinkedOutput>;
  /** The first bytes of a linked output. */
  read(role: string, maxBytes: number): Promise<Uint8Array>;
  log(text: string): Promise<void>;
  checkpoint(state: JsonObject): Promise<void>;
}

export interface RunOutcome {
  readonly data: RunData;
  readonly attemptId: string;
  /** What an audit row should know: attempt, backend, what was observed. */
  readonly facts: JsonObject;
  /** Places that did not answer, and why it went to another. */
  readonly passedOver?: readonly { readonly backend: string; readonly why: string }[];
}

/** What `assembleRuntime` is given to execute runs with. Made when the first run needs it. */
export interface RunParts {
  readonly backends: readonly Backend[];
  readonly folders: AttemptFolders;
  readonly artifacts: ArtifactStore;
  /**
   * Where this runs and what it may use up there. Throws what policy denies, with the line that would admit it. Asked
   * before anybody looks for an earlier result. By default the first backend, and the plan as it is.
   */
  choose?(run: RunChoice): MaybePromise<ChosenPlace>;
  /** By default the word of the first backend that has images. */
  pinImage?(reference: string, run: Pick<RunChoice, 'tool' | 'policy'>): Promise<string>;
}

export interface RunChoice {
  readonly tool: string;
  /** That of the call: its session's. */
  readonly policy: PolicyFile;
  readonly plan: ExecutionPlan;
  readonly plans?: PreparedRun['plans'];
  /** What the caller wants; refused where policy does not grant it. */
  readonly backend?: string;
  readonly placement?: Placement;
}

export interface ChosenPlace {
  readonly backend: string;
  readonly plan: ExecutionPlan;
  readonly placement?: Placement;
  /** The line of policy that lets it go there, and why there. */
  readonly rule?: string;
  readonly why?: string;
  /** Where it goes, in this order, when this does not answer. Its run id is the same everywhere. */
  readonly otherwise?: readonly ChosenPlace[];
}

/** The folders that attempts work in: `in/`, `out/`, `meta/`. */
export interface AttemptFolders {
  /**
   * Makes the folder, with every input at its place, verified and read-only; leaves one that is there as it is. Answers its
   * absolute path.
   */
  prepare(attemptId: string, plan: ExecutionPlan): Promise<string>;
  /** Where the folder of an attempt is, whether or not it is there. */
  at(attemptId: string): string;
  /**
   * Makes what lies at `out/<src>` an artifact: a regular file, or, where `src` ends with a slash, a folder of such. Throws
   * `run.outputs`.
   */
  collect(attemptId: string, src: string): Promise<Artifact>;
  /** Adds to what the log will hold beside the program's own words. */
  note(attemptId: string, text: string): Promise<void>;
  /** What the program printed and what was noted, as one artifact. */
  collectLog(attemptId: string): Promise<Artifact>;
  remove(attemptId: string): Promise<void>;
  /** The attempts that have a folder, or the beginning of one. */
  list(): Promise<readonly string[]>;
}

// -------------------------------------------------------------------------------------------- after

/** What hosts can ask. */
export interface RuntimeRuns extends RunExecutor {
  get(runId: string): Promise<RunRecord>;
  attempts(runId: string): Promise<readonly AttemptRecord[]>;
  list(query?: RunQuery): Promise<readonly RunRow[]>;
  /** A run as it stands; one that ended while nobody watched is finished first. */
  look(runId: string): Promise<RunLook>;
  /** Makes a call that goes on by itself; see `RunsHandle.submit`. */
  submit(request: RunSubmission, options: SubmitOptions): Promise<SubmittedRun>;
  /** Field by field, why two runs are not the same; without the second, the newest other run of the same tool. */
  explain(runId: string, otherId?: string): Promise<RunComparison>;
  /** The same call again, through the pipeline. One that succeeded is answered by its result. */
  retry(runId: string, options?: RunCallOptions): Promise<RunRecord>;
  /** Asks the owner of what is under way to end it, or ends what a dead one left. Answers the attempts. */
  cancel(runId: string): Promise<readonly AttemptRecord[]>;
  /** Follows the newest attempt: every byte of its log, until it ends. */
  watch(runId: string, onLog: (chunk: Uint8Array) => void, signal: AbortSignal): Promise<AttemptRecord>;
  /** Executes the run again and compares every output, the log aside, and the result. What is kept stays as it was. */
  verify(runId: string, options?: RunCallOptions): Promise<RunVerification>;
  /**
   * Looks after every open attempt whose process died: finished ones are finished, lost ones are marked so, and those
   * that still run are followed to their end or, without `follow`, left to whoever calls the run next. Then every backend
   * ends what it still holds of attempts that are over; one that cannot be asked is left out.
   */
  recover(options?: RecoverOptions): Promise<readonly RecoveredAttempt[]>;
}

export interface RunSubmission {
  readonly tool: string;
  readonly args: JsonObject;
  /** Where policy is asked to let it run, and where there. */
  readonly backend: string;
  readonly placement?: Placement;
}

export interface SubmittedRun {
  readonly runId: string;
  /** An earlier, verified result answered: there is nothing to wait for. */
  readonly replayed: boolean;
}

/** A run as it stands. */
export interface RunLook {
  readonly run: RunRecord;
  /** Oldest first. */
  readonly attempts: readonly AttemptRecord[];
  /** What the engine says of the attempt that is under way; null where none is, or where it says nothing. */
  readonly job: EngineJob | null;
}

export interface RecoverOptions {
  readonly follow?: boolean;
  /** Only what is open of this run. */
  readonly runId?: string;
}

export interface SubmitOptions {
  readonly sessionId: string;
  /** So that the audit shows which call made this one. */
  readonly requestId: string;
  /** Cancels it as long as it is not with the engine. */
  readonly signal: AbortSignal;
}

export interface RunCallOptions {
  readonly signal?: AbortSignal;
  readonly sessionId?: string;
  /** Where it is executed, among what policy grants. */
  readonly backend?: string;
}

export interface RunComparison {
  readonly a: string;
  readonly b: string | null;
  /** Empty: they are the same run. */
  readonly differences: readonly FieldDifference[];
}

export interface FieldDifference {
  /** `toolpack digest`, `input "text"`: what people call it. */
  readonly field: string;
  /** A JSON pointer into the preimage. */
  readonly path: string;
  /** Undefined where the field is absent. */
  readonly a?: Json;
  readonly b?: Json;
}

export interface RunVerification {
  readonly runId: string;
  readonly identical: boolean;
  readonly attemptId: string;
  readonly outputs: readonly {
    readonly role: string;
    readonly recorded: ObjectId | null;
    readonly seen: ObjectId | null;
    readonly same: boolean;
  }[];
  /** What the tool answered beside its outputs, by the SHA-256 of its canonical JSON. */
  readonly result: {
    readonly recorded: ObjectId | null;
    readonly seen: ObjectId | null;
    readonly same: boolean;
    /** Of one that is not the same: every field that differs, as a JSON pointer, up to ten. */
    readonly paths: readonly string[];
  };
}

export interface RecoveredAttempt {
  readonly attemptId: string;
  /** Empty where the store does not know the attempt. */
  readonly runId: string;
  /** `reaped`: it had ended, and an engine still held something of it. */
  readonly became: 'finished' | 'lost' | 'followed' | 'left' | 'reaped';
  readonly cause?: AttemptCause;
}
