// Owns: the interface of the state that outlives a process: audit, approvals, sessions, locks, credentials, runs.
// Refuses: SQL, files and retry loops; a store is one folder below `stores/` and runs `testing/store-suite`.
import type { ArtifactRows } from './artifacts.ts';
import type { Change } from './capability.ts';
import type { CredentialRows } from './credentials.ts';
import type { Effect } from './effect.ts';
import type { ErrorEntry } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { PolicyFile, Verdict } from './policy.ts';
import type { RunStore } from './run-store.ts';

export interface Store {
  readonly audit: AuditStore;
  readonly approvals: ApprovalStore;
  readonly sessions: SessionStore;
  readonly locks: LockStore;
  /** Those of users; what is the machine's is not in a workspace. */
  readonly credentials: CredentialRows;
  readonly artifacts: ArtifactRows;
  readonly runs: RunStore;
  readonly installations: InstallationStore;
  readonly toolNames: ToolNameStore;
  readonly retention: RetentionStore;
  /** Waits for what is queued, then lets go of everything. */
  close(): Promise<void>;
}

// ---------------------------------------------------------------------------------------------- audit

/**
 * A line of the audit. A call that changes nothing leaves one `outcome`; a mutating one leaves an `intent`
 * before its effect and an `outcome` before its answer. An intent whose process died gets an outcome `lost`.
 */
export interface AuditEntry {
  readonly phase: 'intent' | 'outcome';
  readonly callId: string;
  readonly requestId: string;
  readonly tool: string;
  readonly contract: string;
  /** `params/v1` digest of the arguments; the arguments themselves are never kept. */
  readonly argsHash: string;
  readonly startTs: number;
  readonly endTs: number | null;
  readonly session: string;
  readonly attribution: JsonObject | null;
  readonly decision: { readonly verdict: Verdict; readonly rule: string };
  readonly effects: readonly Effect[];
  /** `pending` on an intent; `ok`, `denied`, `failed`, `cancelled`, `timeout` or `lost` on an outcome. */
  readonly outcome: 'pending' | 'ok' | 'denied' | 'failed' | 'cancelled' | 'timeout' | 'lost';
  readonly errors: readonly Pick<ErrorEntry, 'code' | 'reason'>[];
  /** sha256 of the haft.yaml that decided: provenance. */
  readonly policyHash: string;
  readonly runId: string | null;
  readonly changes: readonly Change[];
  /** Bytes of arguments and answer together; what byte budgets count. */
  readonly bytes: number;
  /** What was seen while it ran, where that must be provable later: a sandbox's profile, an exit code, connections. */
  readonly facts: JsonObject | null;
  /** Which process wrote it, so that start-up can tell a dead one's intents from a living one's. */
  readonly process: string;
}

export interface AuditRow extends AuditEntry {
  /** Counts from 1 without gaps. */
  readonly seq: number;
  readonly prev: string;
  /** `audit/v1` digest over `prev` and every field of the row. */
  readonly hash: string;
}

export interface AuditHead {
  readonly count: number;
  readonly hash: string;
}

/** How far the audit has come, for whoever keeps its head outside of the workspace. */
export interface AuditProgress {
  /** The hash of the first row: two chains never share it. */
  readonly chain: string;
  /** Where the chain ended when this process began to append, or when it last told. */
  readonly since: AuditHead;
  readonly head: AuditHead;
  hashOf(seq: number): string | undefined;
}

export interface AuditQuery {
  readonly afterSeq?: number;
  /** The newest rows, in ascending order. */
  readonly last?: number;
  readonly limit?: number;
  readonly tool?: string;
  readonly session?: string;
  readonly callId?: string;
  readonly runId?: string;
  readonly outcome?: AuditEntry['outcome'];
}

export type AuditVerdict =
  | { readonly ok: true; readonly head: AuditHead }
  | { readonly ok: false; readonly seq: number; readonly problem: string };

export interface AuditStore {
  /**
   * Appends to the chain. Resolves once the row is committed (visible to every process, survives `kill -9`) and,
   * when `durable`, synced to disk. Rows of one process keep their order; many calls share one commit. `alone`: no other
   * call of this process is under way that could share it, so that none is waited for.
   */
  append(entry: AuditEntry, durable: boolean, alone?: boolean): Promise<AppendReceipt>;
  /**
   * The same for rows that nobody waits for, such as a read's: committed with the next row that somebody does, and
   * within 50 ms. Whoever asks this store for rows or usage sees them at once.
   */
  appendSoon(entry: AuditEntry): Promise<AppendReceipt>;
  head(): Promise<AuditHead>;
  rows(query: AuditQuery): Promise<readonly AuditRow[]>;
  /** The hashes of the first `count` rows in order, a few at a time: the leaves of the audit's Merkle tree. */
  hashes(count: number): AsyncIterable<readonly string[]>;
  /** What the hash of a row is the `audit/v1` digest of: canonical JSON of its columns as they are stored. */
  body(seq: number): Promise<string | undefined>;
  /** Recomputes the whole chain; with `kept`, also that the chain still passes through that head. */
  verify(kept?: AuditHead): Promise<AuditVerdict>;
  /**
   * Intents without an outcome whose process no longer lives. Each gets its `lost` outcome in the same
   * transaction, so that exactly one process reports it. Writes nothing when there are none.
   */
  takeAbandoned(now: number): Promise<readonly AuditRow[]>;
}

export interface AppendReceipt {
  readonly seq: number;
  /** What the session has used, over all processes, with this row counted. Only outcomes count. */
  readonly usage: Usage;
}

// ------------------------------------------------------------------------------------------ retention

/** How much of the audit stays where calls write it. */
export interface AuditKeep {
  /** The newest so many. */
  readonly rows: number;
  /** Of those, what began since then (milliseconds since 1970). */
  readonly since: number;
}

/** Which calls can be undone. */
export interface UndoKeep {
  /** Those that began since then (milliseconds since 1970). */
  readonly since: number;
  /** The newest whose pre-images are no larger together. */
  readonly bytes: number;
}

export interface GivenUp {
  /** Calls that have pre-images and can no longer be undone. */
  readonly calls: number;
  /** Of their pre-images, each call's counted. Those that nothing else refers to can go. */
  readonly bytes: number;
  /** The row up to which they were given up. */
  readonly upTo: number;
}

/** How large what is, in bytes. */
export interface StoreSizes {
  /** The database with its log, and how much of it is free. */
  readonly database: number;
  readonly free: number;
  /** Rows of the audit that calls write beside, and rows in segments. */
  readonly rows: number;
  readonly archivedRows: number;
  readonly segments: number;
  readonly segmentBytes: number;
}

/**
 * Giving up what is old, in small steps that calls, also of other processes, get their turn between. Whatever is killed in
 * the middle of one loses nothing and leaves nothing twice.
 */
export interface RetentionStore {
  /** How many rows `archive` would move, over all of its steps. */
  archivable(keep: AuditKeep): Promise<number>;
  /**
   * Moves the oldest rows into a compressed segment, several where many are due; every question to the audit still finds them.
   * Answers how many rows; 0 where nothing is due. Rows from the oldest call under way on stay. Throws `audit.broken` rather than move a row that
   * is not as it was written.
   */
  archive(keep: AuditKeep): Promise<number>;
  /** Moves on from which call undo is kept. Durable when it answers; the objects themselves go in a sweep. */
  giveUp(keep: UndoKeep, options?: { readonly dryRun?: boolean }): Promise<GivenUp>;
  /** The row up to which pre-images were given up; 0 where none was. */
  givenUp(): Promise<number>;
  /** Makes the database file smaller where much of it is free; answers by how many bytes. */
  shrink(options: { readonly largest: number }): Promise<number>;
  /** Brings what was written beside the database into it, so that sizes are those of what is kept. */
  fold(): Promise<void>;
  sizes(): Promise<StoreSizes>;
  /** Whether this process is the one that cleans up by itself; true at most for one that lives, until it releases. */
  claim(): Promise<boolean>;
  release(): Promise<void>;
}

// ------------------------------------------------------------------------------------------- sessions

export interface Usage {
  readonly calls: number;
  readonly wallMs: number;
  readonly bytes: number;
}

export interface SessionRecord {
  readonly id: string;
  readonly createdTs: number;
  readonly expiresTs: number | null;
  readonly attribution: JsonObject | null;
  /** The narrowing registry as it was given, or null. */
  readonly registry: JsonObject | null;
  readonly budget: Partial<Usage> | null;
  readonly usage: Usage;
}

export interface SessionStore {
  create(session: Omit<SessionRecord, 'usage'>): Promise<void>;
  get(id: string): Promise<SessionRecord | undefined>;
  list(): Promise<readonly SessionRecord[]>;
  /**
   * Takes one of the `most` calls of a session for this call, over all processes at once: those that ended and those
   * under way count. Undefined when it was taken, else how many are; the call's outcome, or the end of the process, gives it back.
   */
  reserve(id: string, callId: string, most: number): Promise<number | undefined>;
  /** Ends a session: `expiresTs` becomes `now`. */
  end(id: string, now: number): Promise<void>;
}

// ------------------------------------------------------------------------------------------ approvals

/** What an approval is bound to: exactly this call, under exactly this policy. */
export interface ApprovalKey {
  readonly tool: string;
  readonly contract: string;
  readonly policyHash: string;
  /** Of the arguments; where it can be said before the call what would change, of that as well. */
  readonly paramsHash: string;
}

/** What a person needs to see of a call to judge it: as it was when the question was asked. */
export interface ApprovalDetails {
  /** With defaults filled in: of a command its line, folder, environment and standard input. Secrets are redacted. */
  readonly args: JsonObject;
  /** What would change, by path, where the tool can say so before it runs. */
  readonly changes?: readonly JsonObject[];
  /** Unified; secrets are redacted. */
  readonly diff?: string;
  /** For a person: what is not shown, and why. */
  readonly notes: readonly string[];
}

export interface Approval extends ApprovalKey {
  readonly id: string;
  /** The session that asked; for people, not part of the key. */
  readonly session: string;
  readonly status: 'pending' | 'granted' | 'refused' | 'consumed' | 'expired';
  readonly createdTs: number;
  readonly expiresTs: number;
  readonly decidedTs: number | null;
  readonly decidedBy: string | null;
  readonly rule: string;
  /** For the person who answers: what the call would touch. */
  readonly effects: readonly Effect[];
  /** The haft.yaml line that `grant --always` proposes. */
  readonly admit: string | null;
  /** Null once the time for an answer is over: what a call held is kept no longer than it can be judged. */
  readonly details: ApprovalDetails | null;
}

/** A person's answer, as the call that meets it is told. */
export interface ApprovalAnswer {
  readonly status: 'granted' | 'refused';
  readonly id: string;
  readonly decidedBy: string;
}

export interface ApprovalStore {
  /** Answers the open approval of this key, or makes one: asking twice does not ask twice. */
  request(approval: Omit<Approval, 'status' | 'decidedTs' | 'decidedBy'>): Promise<Approval>;
  /** Uses up a granted, unexpired approval of this key; at most one caller gets it. Refused ones are answered, too. */
  consume(key: ApprovalKey, now: number): Promise<ApprovalAnswer | undefined>;
  /** What was used up is granted again, until it expires: the call was refused before it did anything. */
  giveBack(id: string): Promise<void>;
  decide(id: string, decision: 'granted' | 'refused', by: string, now: number): Promise<Approval | undefined>;
  get(id: string): Promise<Approval | undefined>;
  list(filter: { readonly status?: Approval['status'] }, now: number): Promise<readonly Approval[]>;
}

// ---------------------------------------------------------------------------------------------- locks

export interface LockRequest {
  readonly path: string;
  /** The path and everything below it. */
  readonly tree: boolean;
}

export interface LockStore {
  /**
   * Takes all of the locks or none, across processes, in turn: waits until they are free, the signal aborts or
   * the holder dies. Answers the release, which takes effect after everything that was asked of the store before it:
   * whoever is let in next sees the rows of whoever was inside.
   */
  acquire(paths: readonly LockRequest[], signal: AbortSignal): Promise<() => Promise<void>>;
}

// -------------------------------------------------------------------------------------- installations

/** A pack that was added beside `haft.yaml`, or what was said about one that is named there. */
export interface InstallationRecord {
  readonly name: string;
  /**
   * As `packs:` of `haft.yaml` would have it, without name and enabled: `{"mcp": {"url": …}}`. Null where `haft.yaml`
   * names the pack, and only whether it is enabled is kept here.
   */
  readonly entry: JsonObject | null;
  readonly enabled: boolean;
  readonly addedTs: number;
  readonly changedTs: number;
}

/** What MCP clients call the tools whose ids they could not take. */
export interface ToolNameStore {
  /** By id. */
  all(): Promise<ReadonlyMap<string, string>>;
  /** Adds those of tools that have none yet; a name that was given stays with its tool. */
  keep(names: ReadonlyMap<string, string>): Promise<void>;
}

export interface InstallationStore {
  /** Durable when it answers. Takes the place of what was kept under that name. */
  put(record: InstallationRecord): Promise<void>;
  get(name: string): Promise<InstallationRecord | undefined>;
  /**
   * By name. What came along in a copy of the state adds no pack: an entry names programs to run. That one is
   * disabled holds in a copy as well.
   */
  list(): Promise<readonly InstallationRecord[]>;
  /** Answers whether there was one. */
  remove(name: string): Promise<boolean>;
}

/** One workspace's. Kept outside of every workspace. */
export interface TrustRecord {
  /** The absolute, resolved workspace. */
  readonly folder: string;
  /** Its meaning: what a later edit is compared with. */
  readonly policy: PolicyFile;
  /** Of the bytes of haft.yaml as they were trusted; of no bytes where there was none. */
  readonly sha256: string;
  /** SHA-256 of haft.lock in Haft's own spelling; null where there was none. */
  readonly lock: string | null;
  readonly trustedTs: number;
}
