// Owns: how any tool outside of the process is reached: open, invoke, health, close.
// Refuses: policy, validation and audit; the pipeline has done those before `invoke`.

import type { MaybePromise } from './json.ts';
import type { BoundTool, HealthReport, Installation } from './manifest.ts';

export interface Adapter {
  readonly name: string;
  open(installation: Installation, tools: readonly BoundTool[]): MaybePromise<AdapterConnection>;
}

export interface AdapterConnection {
  /** Sends one call. Rejects with a failure of the table; `call.outcome_unknown` once it may have left. */
  invoke(invocation: Invocation): Promise<InvocationResult>;
  health(signal: AbortSignal): Promise<HealthReport>;
  /** Ends everything that was started. Calls under way are rejected. Closing twice is fine. */
  close(): Promise<void>;
}

export interface Invocation {
  readonly tool: string;
  readonly args: unknown;
  readonly callId: string;
  readonly signal: AbortSignal;
  progress(progress: { readonly pct?: number; readonly message?: string }): void;
}

/** A tool's own failure is an answer, not a rejection, and is never masked by output validation. */
export type InvocationResult =
  | { readonly ok: true; readonly data: unknown }
  | { readonly ok: false; readonly message: string; readonly details?: unknown };
