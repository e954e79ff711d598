// Owns: how it is found out whether what a tool is reached by works, and what the pipeline asks before it calls one.
// Refuses: to say how anything is reached; the ways are given to it, and every one of them is governed.
import type { AdapterConnection } from './adapter.ts';
import type { CallRequest, CallResponse } from './envelope.ts';
import type { ErrorEntry } from './errors.ts';
import type { HttpHandle } from './http.ts';
import type { MaybePromise } from './json.ts';
import type { HealthReport } from './manifest.ts';
import type { YamlHealth } from './yaml-tool.ts';

/** What a tool of a YAML file may choose from, and `mcp`: the server answers a request that concerns no tool. */
export type HealthStrategy = YamlHealth['strategy'] | 'mcp';

export interface HealthPlan extends Omit<YamlHealth, 'strategy'> {
  readonly strategy: HealthStrategy;
  /** Of `ping`: the tool that is called. */
  readonly tool?: string;
}

/** Holds where nobody says otherwise. */
export const USUAL_HEALTH: HealthPlan = {
  strategy: 'connection',
  intervalMs: 30_000,
  timeoutMs: 5_000,
  failureThreshold: 3,
  successThreshold: 1,
};

/** Something whose health is watched: an installation, or one tool of it that has a plan of its own. */
export interface HealthSubject {
  readonly name: string;
  /** Another where it is not the same any more, such as with another config. */
  readonly identity: string;
  /** What is not enabled is not looked at. */
  readonly enabled: boolean;
  readonly plan: HealthPlan;
  readonly ways: HealthWays;
}

export interface HealthWays {
  /** The connection that calls use. Asked for with every look; only the first need open it. */
  connection(): MaybePromise<Pick<AdapterConnection, 'health'>>;
  /** Nothing is open, and nothing was lost: a look in its interval would start it for nobody. Absent: never. */
  asleep?(): boolean;
  /** The guarded handle of the installation, for `endpoint`. */
  readonly http?: HttpHandle;
  /** The one call, for `ping`: decided and audited like any other, but not held up by `HealthGate.admit`. */
  call?(request: CallRequest, options: { readonly signal: AbortSignal }): Promise<CallResponse>;
}

/** What the pipeline needs of health. Names that nobody watches are always admitted. */
export interface HealthGate {
  /**
   * Throws `tool.unhealthy` for what is unhealthy. After it was left alone for a while, one look is made, shared by
   * all calls that wait for it, and decides. Answers at once, without a promise, where all is well; the signal is asked
   * for only where it is not.
   */
  admit(name: string, signal: () => AbortSignal): MaybePromise<void>;
  /** Tells how a call ended: calls are looks, too. */
  observe(name: string, error: Pick<ErrorEntry, 'reason' | 'message'> | undefined): void;
}

/** The gate as one tool has it: what is asked by name is asked for the name that it is watched under. */
export interface ToolHealth {
  admit(signal: () => AbortSignal): MaybePromise<void>;
  observe(error: Pick<ErrorEntry, 'reason' | 'message'> | undefined): void;
  /** What was last seen of it. */
  report(): HealthReport | undefined;
}

export interface HealthMonitor extends HealthGate {
  /** Answers with the function that ends it. Watching a name again replaces what was watched. */
  watch(subject: HealthSubject): () => void;
  /** Undefined for names that nobody watches. */
  report(name: string): HealthReport | undefined;
  /** By name, sorted. */
  reports(): readonly (readonly [name: string, report: HealthReport])[];
  /**
   * Looks now. Looks of one subject that are asked for at once are one. `decides`: for a person who asks, one look is
   * enough to call it ready or unhealthy, and from then on every door says so.
   */
  look(name: string, signal: AbortSignal, decides?: boolean): Promise<HealthReport>;
  /** From now on everything is looked at in its intervals. A host that ends with its call never starts. */
  start(): void;
  /** Ends every look and every timer. */
  close(): Promise<void>;
}
