// Owns: where a plan runs, all that a backend says of itself, and how an attempt is followed and adopted after a crash.
// Refuses: run identity and replay; a backend executes one attempt and says how it ended.
import { ATTEMPT_CAUSES, type AttemptCause, type FailureClass } from './attempt-cause.ts';
import { fail } from './errors.ts';
import type { Json } from './json.ts';
import type { ExecutionPlan } from './plan.ts';
import type { RunsPolicy } from './policy.ts';
import type { Variables } from './run-environment.ts';
import type { SandboxHandle } from './sandbox.ts';
import type { MapShape } from './shape.ts';

/**
 * A leaf below `backends/`, as `backends/index.ts` lists it: everything that is its own. Loading it loads no engine, `open`
 * does. The type of its settings is added to `RunsPolicy` by declaration merging in its module.
 */
export interface BackendKind {
  readonly name: string;
  /** Its part of `runs:` in haft.yaml, under its name. */
  settings?(): MapShape;
  /** What is wrong with that part beyond its shape: where below `runs`, the text there, and the fact. */
  check?(runs: RunsPolicy): readonly { readonly at: string; readonly text: string; readonly fact: string }[];
  /** How toolpacks write plans for it, by its name. Without it every plan can run there. */
  readonly dialect?: PlanDialect;
  /** `needed`: it takes no plan without an image. `none`: programs are those of the machine, whatever a plan names. */
  readonly images: 'needed' | 'taken' | 'none';
  /** Why an image that policy admits cannot run here, and the rule that says so. */
  refuseImage?(image: string, runs: RunsPolicy): { readonly rule: string; readonly fact: string } | undefined;
  /** What callers can choose there, each with the list of its settings that it is among. */
  readonly placement?: { readonly [key: string]: string };
  /** It is this machine itself: it always answers, and what it runs ends with its process. */
  readonly here?: true;
  /** Programs that `haft doctor` looks for. */
  programs?(): readonly BackendProgram[];
  /** `Backend.knowsName`, where policy says it and no engine has to be asked. */
  knowsName?(image: string, runs: RunsPolicy): boolean | undefined;
  /** What is known on this machine of an image's ENV without asking an engine. */
  imageEnv?(image: string, runs: RunsPolicy): Promise<Variables | undefined>;
  /** Made again when its settings, the images or the limits of policy change. */
  open(site: BackendSite, runs: RunsPolicy): Promise<Backend>;
}

/** What differs between the plans that toolpacks write for one engine and another. */
export interface PlanDialect {
  /** Inputs, and the declared outputs once more, lie below `io`; else inputs lie in the plan itself. */
  readonly io: boolean;
  /** `image` can be left out; else null has to say that there is none. */
  readonly mayOmitImage: boolean;
  /** The field of an input that says where it lies, and the folder that such a place begins with. */
  readonly dest: string;
  readonly below: 'in' | '';
}

export interface BackendProgram {
  readonly name: string;
  readonly command: string;
  readonly neededFor: string;
  /** As most distributions call it. */
  readonly packageName: string;
  /** Where the engine is reached, and the command only tells that it is installed: the settings to reach it with. */
  reach?(env: BackendSite['env']): Json;
  /** How it is started, where it does not answer. */
  readonly start?: string;
}

/** What a backend is made with. */
export interface BackendSite {
  /** The folder that attempts' folders are in. */
  readonly root: string;
  /** This process, as attempts know their owners, and whether another one still runs. */
  readonly process: string;
  isAlive(process: string): boolean;
  /** What tells this workspace from all others on an engine, for as long as it exists. */
  scope(): Promise<string>;
  /** The environment of the host: PATH, DOCKER_HOST, SLURM_CONF. */
  readonly env: Readonly<Record<string, string | undefined>>;
  alert(message: string): void;
  /** What an image says of the environment, from whoever knows it; undefined where runs go nowhere but to this machine. */
  imageEnv(image: string): Promise<Variables | undefined>;
  /** A sandbox of this machine whose workspace is `root`. */
  sandbox(): Promise<SandboxHandle>;
  /** The filters of that sandbox, by what `uname -m` calls the CPU. */
  seccomp(): Promise<Readonly<Record<string, Uint8Array>>>;
}

/** Each passes `testing/backend-suite`. */
export interface Backend {
  readonly name: string;
  /**
   * Starts the attempt unless it is already there: the same attempt id never executes twice, not even when the process
   * that started it died half-way. Rejects with a failure of the table when policy forbids it and nothing was begun;
   * everything else that goes wrong is an end.
   */
  start(attempt: Attempt): Promise<BackendHandle>;
  /**
   * What became of an attempt that an earlier process started, as long as its folder is there. Undefined when it never
   * got here; it can be started then.
   */
  find(attempt: Attempt): Promise<BackendHandle | undefined>;
  /**
   * Ends and removes what is here of attempts of this workspace that are not open, and answers their ids. What is here
   * is listed before `isOpen` is asked, so that an attempt that was recorded before it was started is safe.
   */
  reap(isOpen: (attemptId: string) => Promise<boolean>): Promise<readonly string[]>;
  /** What the engine itself says of an attempt that is under way, where it has words of its own. */
  look?(attempt: Pick<Attempt, 'id'>): Promise<EngineJob | undefined>;
  /** Pins an image by what cannot change, where this backend runs images. Rejects when it is not there. */
  pinImage?(reference: string): Promise<PinnedImage>;
  /** Whether the image of this digest goes by this name here; undefined when it is not there. Engines run it under any. */
  knowsName?(image: string): Promise<boolean | undefined>;
  /** What the ENV of a pinned image says, where this backend runs images; undefined when it is not there. */
  imageEnv?(image: string): Promise<Variables | undefined>;
  /** What answers here, in a few words. Rejects with `run.infrastructure` and what would help when nothing does. */
  probe?(): Promise<string>;
  /** Lets go of connections and timers. Attempts under way go on where the engine can carry them, to be found again. */
  close(): Promise<void>;
}

export interface Attempt {
  readonly id: string;
  readonly runId: string;
  /** Whose run it is: entries of `runs.images` for other tools do not admit its image. */
  readonly tool?: string;
  readonly plan: ExecutionPlan;
  /**
   * The attempt's folder, absolute, with `in/` (already filled), `out/` and `meta/`. Once the attempt has ended,
   * `meta/log` holds its standard output and error.
   */
  readonly folder: string;
  readonly placement?: Placement;
}

/** Where on a backend, by the keys of its `placement`, as policy admits it. No part of any identity. */
export type Placement = { readonly [key: string]: string };

/** `partition=long,qos=high`, as commands and HTTP take it. */
export function readPlacement(text: string): Placement {
  const pairs = text.split(',').map((pair) => {
    const [, key, value] = /^(\w+)=(.+)$/.exec(pair) ?? [];
    if (key !== undefined) return [key, value];
    throw fail('usage', `Cannot place the run: a place is KEY=VALUE, not "${pair.slice(0, 80)}"`);
  });
  return Object.fromEntries(pairs);
}

export interface EngineJob {
  /** The engine's own name for it: a job id. */
  readonly id: string;
  /** In the engine's words: `PENDING`. */
  readonly state: string;
  /** Why it waits, where the engine says. */
  readonly reason?: string;
  readonly phase: 'queued' | 'running' | 'ended' | 'unknown';
}

export interface BackendHandle {
  readonly attemptId: string;
  /**
   * Resolves when the attempt has ended, however it ended. When the signal aborts it rejects with its reason, and the
   * attempt goes on. On success exactly the declared outputs are in `out/`, and nothing runs that could change them.
   */
  wait(signal: AbortSignal): Promise<AttemptEnd>;
  /** Ends the attempt with everything that it started. What has ended already stays as it ended. */
  cancel(): Promise<void>;
  /** Standard output and error from their beginning, as they come. What it returns ends the following. */
  follow(onChunk: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void): () => void;
}

/** Only `infrastructure` is tried again by itself; only `succeeded` is ever a result. */
export interface AttemptEnd {
  readonly status: 'succeeded' | 'failed' | 'lost';
  readonly failure?: FailureClass;
  /** A row of `ATTEMPT_CAUSES`; absent on success. */
  readonly cause?: AttemptCause;
  readonly exitCode: number | null;
  readonly message: string;
  /** The last lines that the program wrote to standard error, where it failed: `withStderr` of `attempt-words.ts`. */
  readonly stderr?: string;
  /** What was seen from inside: capabilities, interfaces, mounts. */
  readonly observed?: { readonly [fact: string]: unknown };
}

/** The end of an attempt that did not succeed. `message` says the action first and the fact second. */
export function failedEnd(
  cause: AttemptCause,
  message: string,
  facts: Pick<AttemptEnd, 'observed'> & { readonly exitCode?: number | null } = {},
): AttemptEnd {
  const { failure, status } = ATTEMPT_CAUSES[cause];
  const { exitCode = null, observed } = facts;
  return { status, failure, cause, exitCode, message, ...(observed ? { observed } : {}) };
}

export interface PinnedImage {
  /** `name@sha256:…`, or the bare `sha256:…` of an image that has no repository digest. */
  readonly image: string;
  readonly by: 'repository_digest' | 'image_id';
}
