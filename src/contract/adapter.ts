// Owns: how any tool outside of the process is reached: open, invoke, health, close.
// Refuses: policy, validation and audit; the pipeline has done those before `invoke`.

import type { Capabilities } from './capability.ts';
import type { Effect } from './effect.ts';
import type { ShownContent, Warning } from './envelope.ts';
import type { Failure } from './errors.ts';
import type { JsonObject, JsonSchema, MaybePromise } from './json.ts';
import type { BoundTool, HealthReport, Installation } from './manifest.ts';
import type { PreparedRun, PrepareSite, RunInputs, RunTicket } from './runs.ts';
import type { EffectSite } from './tool.ts';

export type { RunInputs };

export interface Adapter {
  readonly name: string;
  /** What the config of its installations has to fit. Absent: whatever their packs say. */
  readonly config?: JsonSchema;
  /** Answers also where the other side is not there: calls find out, and one that is dead hides no other. */
  open(installation: Installation, tools: readonly BoundTool[]): MaybePromise<AdapterConnection>;
  /** What a call would touch, from its arguments alone. Absent: nothing outside of this process. */
  effects?(query: EffectQuery): MaybePromise<readonly Effect[]>;
  /** What every call of the tool would touch, whatever its arguments. Absent: nothing that is known before. */
  needs?(query: Omit<EffectQuery, 'args'>): readonly Effect[];
  /** Of a deterministic tool: what its outcome depends on beside its arguments and policy, as it is now. Absent: nothing. */
  runIdentity?(query: Omit<EffectQuery, 'site'>): MaybePromise<RunInputs>;
  /** For packs whose tools are prepared before they are called; see `Tool.prepare`. */
  prepare?(query: PrepareQuery): Promise<PreparedRun>;
}

export interface EffectQuery {
  readonly installation: Installation;
  readonly tool: BoundTool;
  readonly args: unknown;
  readonly site: Pick<EffectSite, 'place'>;
}

export interface PrepareQuery extends Omit<EffectQuery, 'site'> {
  readonly site: PrepareSite;
}

export interface AdapterConnection {
  /** Sends one call. Rejects with a failure of the table; `call.outcome_unknown` once it may have left. */
  invoke(invocation: Invocation): Promise<InvocationResult>;
  health(signal: AbortSignal): Promise<HealthReport>;
  /** Nothing is open, and nothing was lost: `health` would start something. Absent: never. */
  asleep?(): boolean;
  /** Takes other tools over from now on, without losing what is under way. Absent: it is opened anew for them. */
  retool?(tools: readonly BoundTool[]): void;
  /** Ends everything that was started. Calls under way are rejected. Closing twice is fine. */
  close(): Promise<void>;
}

export interface Invocation {
  readonly tool: string;
  readonly args: unknown;
  readonly callId: string;
  readonly signal: AbortSignal;
  progress(progress: { readonly pct?: number; readonly message?: string }): void;
  /** What a program prints, as it prints it. */
  output?(stream: 'stdout' | 'stderr', text: string): void;
  /** Of a tool that was prepared. */
  readonly run?: RunTicket;
  /** Puts what was seen into the audit row of the call. No secrets. */
  testify?(facts: JsonObject): void;
  /** Tells the caller something beside the data. */
  warn?(warning: Warning): void;
  /** Where an answer goes that is larger than it may be. Absent for what is no call of a tool. */
  spill?(): AnswerSpill;
  /** The guarded handles of this call. Absent for what is no call of a tool: those of the installation are used. */
  readonly handles?: CallHandles;
  /** The secrets that the tool declared, by provider and field: for this call, and for no log. */
  readonly credentials?: Secrets;
}

/** Keeps one answer, whole, while it comes. */
export interface AnswerSpill {
  /**
   * The piece must stay as it is until this has settled; whoever reads on only then slows the other side down to what can
   * be kept. Throws `output.too_large` once there is more than `spillBytes`.
   */
  write(chunk: Uint8Array): Promise<void>;
  /** Once all has come: the failure that the call ends with, which names what holds the answer. */
  fail(limit: number): Promise<Failure>;
  /** Nothing is kept. */
  discard(): Promise<void>;
}

/** So much is kept of one answer, and no more: what may be, twice; and at least what a host can take without growing. */
export const spillBytes = (maxOutputBytes: number): number => Math.max(16 * 1024 * 1024, 2 * maxOutputBytes);

export type Secrets = { readonly [provider: string]: { readonly [field: string]: string } };

/** The ways out that an adapter has. Those of an installation decide by the policy that holds at the time. */
export type CallHandles = Pick<Capabilities, 'exec' | 'http'>;

/** How the preset gives an adapter its ways out. */
export type HandlesFor = (installation: Installation) => CallHandles;

/** A tool's own failure is an answer, not a rejection, and is never masked by output validation. */
export type InvocationResult =
  | { readonly ok: true; readonly data: unknown; readonly content?: ShownContent }
  | {
      readonly ok: false;
      readonly message: string;
      readonly details?: unknown;
      readonly content?: ShownContent;
    };
