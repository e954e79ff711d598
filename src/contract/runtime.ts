// Owns: the runtime as hosts and SDK users see it, and the parts that it is made of.
// Refuses: leaves; the preset names them.
import type { Adapter, CallHandles } from './adapter.ts';
import type { Placement } from './backend.ts';
import type { CallScope, Capability, RealNames, TreeScan } from './capability.ts';
import type { ResolvedCredentials } from './credentials.ts';
import type { Effect } from './effect.ts';
import type { CallRequest, CallResponse, EventMessage, KnownFields } from './envelope.ts';
import type { Failure } from './errors.ts';
import type { ToolHealth } from './health.ts';
import type { JsonObject, MaybePromise, SchemaCompiler } from './json.ts';
import type { Unpinned } from './lock.ts';
import type { BoundTool, HealthReport, Installation, LoadResult } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';
import type { Decision, LoadedPolicy, PolicyEngine, PolicyFile } from './policy.ts';
import type { ReplaySource } from './replay.ts';
import type { RuleDefinition } from './rule.ts';
import type { AttemptRecord } from './run.ts';
import type { RunParts, RuntimeRuns } from './runs.ts';
import type { Approval, AuditRow, AuditStore, SessionRecord, Store, Usage } from './store.ts';
import type { AnyTool, ToolContract } from './tool.ts';

/** Everything a host needs. All hosts are views over `call`. */
export interface Runtime {
  /** The one call. Never throws for what a caller, a tool or the machine did: see `ok` and `errors`. */
  call(request: CallRequest, options?: CallOptions): Promise<CallResponse>;
  /** Installed tools, sorted by id. */
  tools(): readonly ToolListing[];
  /** The id of the tool that MCP clients know by this name; undefined where none is installed. */
  named(name: string): string | undefined;
  /** One tool's contract, or undefined where it is not installed. */
  tool(id: string): ToolContract | undefined;
  readonly policy: RuntimePolicy;
  readonly installations: RuntimeInstallations;
  readonly runs: RuntimeRuns;
  readonly sessions: RuntimeSessions;
  readonly approvals: RuntimeApprovals;
  readonly audit: AuditStore;
  readonly objects: ObjectStore;
  /** The session of calls that name none. */
  readonly defaultSession: string;
  /** What was in flight when an earlier process died. */
  readonly startup: StartupReport;
  subscribe(listener: EventListener): () => void;
  /** Waits for calls under way to be recorded, then closes capabilities and the store. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Cancels the call. A function is asked only when the call begins to wait for something. */
  readonly signal?: AbortSignal | (() => AbortSignal);
  /** Events of this call only. */
  readonly onEvent?: EventListener;
  /** A look at the tool's health by a call: not held up by what is known of it. */
  readonly probe?: boolean;
  /** Told which run the call is, undefined where it is none, before anything is executed; what it throws ends the call. */
  onNamed?(run: NamedRun | undefined): MaybePromise<void>;
  /** Of a prepared run: told once its attempt is with the engine, whoever brought it there. */
  onStarted?(attempt: AttemptRecord): void;
  /** The audit row is committed before the answer of a read, too, and not within 50 ms of it. */
  readonly recordFirst?: boolean;
  /** The process ends with this call: work that would go on after it is refused. */
  readonly once?: boolean;
  /** Executes a prepared run although its result is known, and leaves that as it is. */
  readonly verify?: boolean;
  /** Only goes on with what is under way of a prepared run: begins no attempt. */
  readonly resume?: boolean;
  /** Where a prepared run is executed: one of the backends that policy grants to the tool. */
  readonly backend?: string;
  /** Where on a cluster, among what policy lists. */
  readonly placement?: Placement;
}

/** What a run's id stands for. */
export interface NamedRun {
  readonly runId: string;
  readonly preimage: JsonObject;
  /** The policy that is part of its name, as canonical JSON. */
  policy(): Uint8Array;
}

export const CALL_OPTIONS: KnownFields<CallOptions> = {
  signal: true,
  onEvent: true,
  probe: true,
  onNamed: true,
  onStarted: true,
  recordFirst: true,
  once: true,
  verify: true,
  resume: true,
  backend: true,
  placement: true,
};

/** A pack that calls can reach: how this host knows it, its tools, and how they are reached. */
export interface OpenPack {
  readonly installation: Installation;
  readonly adapter: Adapter;
  readonly tools: readonly BoundTool[];
  /** Every file that its code is made of, by path, with its SHA-256: what `haft.lock` lists. */
  readonly files?: { readonly [path: string]: string };
  /** Files outside of its folder that it is made of, absolute: tools cannot write those either. */
  readonly beside?: readonly string[];
  /** Of a server whose tools were not known when it was installed. */
  readonly absent?: AbsentPack;
  /** By id: tools that it has and that cannot be used, and why. */
  readonly refused?: { readonly [id: string]: string };
  /** What else is not as it should be, one sentence each. */
  readonly problems?: readonly string[];
  /** What of it is in no digest, and why. */
  readonly unpinned?: readonly Unpinned[];
  /** The secrets that a call of the tool gets, at the last moment. Throws where a required one is missing. */
  secrets?(tool: BoundTool, sessionId: string): Promise<ResolvedCredentials | undefined>;
  /** Of a tool that requires secrets: whether they are set. Absent: it requires none. */
  needs?(tool: BoundTool): SecretNeeds | undefined;
  /** Whether what the tool is reached by works. Absent: nobody watches it. */
  health?(tool: BoundTool): ToolHealth | undefined;
  /** By id: tools that cannot be called because they are not what a person accepted, and the message that says so. */
  readonly quarantine?: { readonly [id: string]: string };
}

/** A server that nobody has reached yet. Whoever needs its tools asks for them; nobody else waits. */
export interface AbsentPack {
  /** Its tools are known by now. */
  readonly known: boolean;
  /** Why it was not there the last time that somebody asked, here or in another process. */
  readonly last: { readonly message: string; readonly at: number } | undefined;
  /** That was a short while ago: a listing does not wait for it once more. */
  readonly isRecent: boolean;
  /** Settles once its tools can be called. Rejects with why they cannot. */
  ask(signal: AbortSignal): Promise<void>;
  /** Tells that somebody waited so long in vain. */
  slow(ms: number): void;
}

/** A pack as every door tells of it. */
export interface PackState extends HealthReport {
  readonly name: string;
  /** How many of its tools are known. */
  readonly tools: number;
  readonly problems?: readonly string[];
}

export interface SecretNeeds {
  /** The commands that would set what nobody has set, as far as is known. */
  lacking(): readonly string[];
  /** Throws `credentials.missing` where a call of that session would not get one. Opens nothing. */
  require(sessionId: string): Promise<void>;
}

export interface RuntimeInstallations {
  /** Its tools can be called from now on; nothing is started before the first call. Throws `pack.invalid`. */
  add(pack: OpenPack): void;
  /**
   * Another pack in the place of the one of that name, with no moment between them. Its connection, and the calls that
   * are under way, stay where the installation is the same. Throws `pack.invalid`, and then it is as it was.
   */
  replace(pack: OpenPack): Promise<void>;
  /** Its tools are gone at once; calls under way are rejected when its connection closes. */
  remove(name: string): Promise<void>;
  all(): readonly OpenPack[];
  health(name: string, signal: AbortSignal): Promise<HealthReport>;
  /** Nothing is open of it, and nothing was lost: `health` would start something for nobody. */
  asleep(name: string): boolean;
  /**
   * Asks the servers whose tools nobody knows yet, or that of this name alone, and waits until they answered, at most
   * `ms`, 5000 by default. Those that did not answer lately are not waited for. Never rejects.
   */
  settle(which?: { readonly name?: string; readonly ms?: number }): Promise<void>;
  /** Of a tool that is not there: why a call of it is refused, such as that its pack is not open, and what opens it. Asks no pack. */
  explainMissing(id: string): Promise<Failure>;
  /** The ways out of an installation between its calls: policy as it is then decides each access. */
  handlesFor(installation: Installation): CallHandles;
}

export interface ToolListing {
  readonly contract: ToolContract;
  /** What MCP clients call it, where that is not its id: most take no dots. */
  readonly name?: string;
  readonly origin: string;
  readonly enabled: boolean;
  /** For a disabled tool: the haft.yaml line that would grant it. */
  readonly admit?: string;
  /** For a tool that no line of haft.yaml would grant: why it is disabled. */
  readonly denied?: string;
  /** For a tool that is not what a person accepted: why it is disabled. */
  readonly quarantined?: string;
  /** For a tool that lacks secrets: the commands that would set them. It is disabled until then. */
  readonly lacks?: readonly string[];
  /** Of a tool that is watched: what was last seen of what it is reached by. */
  readonly health?: HealthReport;
}

export interface RuntimePolicy {
  readonly current: PolicyEngine;
  /** Takes a policy over, whole, for calls that start from now on. */
  replace(policy: LoadedPolicy): Promise<void>;
  /** What would happen to this call, decided but not made. Throws what refuses it before policy is asked. */
  explain(request: CallRequest, options?: Pick<CallOptions, 'backend' | 'placement'>): Promise<Explanation>;
}

export interface Explanation {
  readonly tool: string;
  readonly effects: readonly Effect[];
  /** What the call would be told: also of a budget that is used up, an answered approval, and where links lead. */
  readonly decision: Decision;
  readonly all: readonly Decision[];
  /** Of a call that asks: the open approval of exactly this call. Granted, the next such call is made. */
  readonly approval?: Pick<Approval, 'id' | 'status'>;
  /** Not looked at, a line each: what only doing it would tell, and policy decides meanwhile. */
  readonly unseen?: readonly string[];
  /** Of a run: where it would go, by which rule and why, and where else when that does not answer. */
  readonly place?: {
    readonly backend: string;
    readonly placement?: Placement;
    readonly rule: string;
    readonly why: string;
    readonly otherwise: readonly string[];
  };
}

export interface RuntimeSessions {
  /** A session may narrow what the host grants, never widen it (`policy.widens`). */
  open(options?: SessionOptions): Promise<SessionRecord>;
  get(id: string): Promise<SessionView | undefined>;
  list(): Promise<readonly SessionRecord[]>;
  end(id: string): Promise<void>;
}

export interface SessionOptions {
  readonly id?: string;
  readonly attribution?: JsonObject;
  /** A registry in the shape of haft.yaml whose rules are added to the host's. */
  readonly registry?: JsonObject;
  readonly budget?: Partial<Usage>;
  readonly ttlMs?: number;
}

export interface SessionView extends SessionRecord {
  readonly remaining: Partial<Usage>;
}

export interface RuntimeApprovals {
  list(status?: Approval['status']): Promise<readonly Approval[]>;
  /** Fails with `approval.unknown` where there is none. */
  show(id: string): Promise<Approval>;
  decide(id: string, decision: 'granted' | 'refused', by: string): Promise<Approval>;
}

export interface StartupReport {
  readonly inFlight: readonly AuditRow[];
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never run backwards, for durations. */
  monotonic(): number;
}

/** Answers with `prefix_` and at least 96 random bits, in lower-case letters and digits. */
export type NewId = (prefix: string) => string;

/** What MCP clients call tools. */
export interface ToolNames {
  nameOf(id: string): string;
  /** The tool that was given this name before. */
  ownerOf(name: string): string | undefined;
  /** Takes over what was kept, by id. */
  recall(kept: ReadonlyMap<string, string>): void;
}

/** What `assembleRuntime` puts together. */
export interface RuntimeParts {
  readonly root: string;
  readonly policy: LoadedPolicy;
  /** Checks a session's registry, given as an object in the shape of haft.yaml. */
  readonly checkRegistry: (registry: JsonObject) => MaybePromise<LoadResult<PolicyFile>>;
  readonly tools: readonly { readonly tool: AnyTool; readonly origin: string }[];
  readonly rules: readonly RuleDefinition[];
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly capabilities: readonly Capability[];
  /** Looks at everything below the roots, for capabilities that are told of what programs change. */
  readonly scanTree: (roots: Pick<CallScope, 'root' | 'extraRoots'>) => Promise<TreeScan>;
  /** So that calls which reach one place by different names wait for each other. */
  readonly realNames: RealNames;
  readonly schemas: SchemaCompiler;
  /** By default the store's runs. */
  readonly replay?: ReplaySource;
  /** Where prepared runs are executed; asked for when the first one is. Without it they cannot be. */
  readonly runs?: () => MaybePromise<RunParts>;
  readonly events: EventBus;
  /** What MCP clients call tools; by default as the ids say. */
  readonly names?: ToolNames;
  /** Asked of a tool that is not there: why it cannot be called, where more is known than that. */
  readonly explainMissing?: (id: string) => Promise<Failure | undefined>;
  readonly clock: Clock;
  readonly newId: NewId;
  /** This process, as the audit and the locks know it. */
  readonly process: string;
}

export type EventListener = (event: EventMessage) => void;

export interface EventBus {
  emit(event: EventMessage): void;
  /** Answers with the function that ends the subscription. A listener that throws is dropped, not propagated. */
  subscribe(listener: EventListener): () => void;
}
