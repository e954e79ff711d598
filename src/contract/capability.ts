// Owns: what a capability is, the guarded handles that a running tool holds, and what a capability is given to build one.
// Refuses: unguarded access; whatever a handle does has passed `scope.admit`.
import type { ArtifactsHandle, OpenFile } from './artifacts.ts';
import type { Effect, EffectShapes } from './effect.ts';
import type { ShownContent, Warning } from './envelope.ts';
import type { ExecHandle } from './exec.ts';
import type { HttpHandle } from './http.ts';
import type { JsonObject, MaybePromise } from './json.ts';
import type { ObjectId, ObjectStore } from './object-store.ts';
import type { Fence } from './policy.ts';
import type { RunTicket } from './runs.ts';
import type { RunsHandle } from './runs-handle.ts';
import type { SearchHandle } from './search.ts';
import type { BeginStanding, ShellsHandle, ShellsView } from './shells.ts';

/** What `run(args, ctx)` receives. Handles are made on first use. */
export interface ToolContext extends Capabilities {
  readonly callId: string;
  readonly requestId: string;
  readonly sessionId: string;
  /** Aborts on cancellation and on the deadline; its reason is a failure of the error table. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970, from the runtime's clock. */
  now(): number;
  progress(progress: { readonly pct?: number; readonly message?: string }): void;
  /** What a program prints, as it prints it; goes to listeners, not into the answer. */
  output(stream: 'stdout' | 'stderr', text: string): void;
  /** Puts what was seen into the audit row of this call. No secrets: it stays for good. */
  testify(facts: JsonObject): void;
  /**
   * Makes durable that this call is about to change something outside of the workspace. Must be awaited before; called at
   * most once, and never by a tool whose changes go through `fs` or `exec.shell`, which do so themselves.
   */
  intend(): Promise<void>;
  /** Tells the caller something beside the data: truncation, a weaker guarantee. */
  warn(warning: Warning): void;
  /** Gives the caller what is to be looked at or listened to beside the data. */
  show(content: ShownContent): void;
  /** Of a tool that was prepared: its run. */
  readonly run?: RunTicket;
  /** Runs of this workspace. */
  readonly runs: RunsHandle;
  /** What earlier calls changed; what `undo` reads. */
  readonly history: HistoryHandle;
}

/**
 * A capability: the handle that calls hold, and what lives between calls. The preset has the list; the runtime loops over it
 * and names none. `State` is what `open` makes: an index, a connection.
 */
export interface Capability<Name extends string = string, State = unknown> {
  /** As calls hold it: `ctx.NAME`. */
  readonly name: Name;
  /** Called once for a call that asks for it. `state` returns what `open` made, opening it where nobody has yet. */
  handle(
    scope: CallScope,
    state: () => Promise<State>,
  ): Name extends keyof Capabilities ? Capabilities[Name] : unknown;
  /** Called when first needed, never twice at once. What it throws fails the calls that wait for it; the next one tries again. */
  open?(site: CapabilitySite): MaybePromise<State>;
  /**
   * Of a capability with `open`: subscribes to changes. While it is open it is told, one after the other, what may not be as it was: by a call of this
   * runtime before that call is answered, by calls of other processes before `state` next returns. What programs changed is
   * found by looking at the files before and after. Where it throws, the state is closed and opened anew when next needed.
   */
  changed?(changes: readonly PathChange[], state: State, signal: AbortSignal): MaybePromise<void>;
  /** Called after the last call, once, with what was opened; of a capability with `open`, only where it was. */
  close?(state: State): MaybePromise<void>;
  /** Paths in the workspace that are its own, with all below them: refused to tools and hidden from programs. */
  readonly protects?: readonly string[];
  /** What `effects` may ask of it, before there is a call (`EffectSite`). */
  readonly view?: Name extends keyof EffectViews ? EffectViews[Name] : unknown;
  /** Of a call that changes something: names that no other call holds while it runs, in any process of the workspace. */
  locks?(call: { readonly tool: string; readonly effects: readonly Effect[] }): readonly string[];
}

export interface CapabilitySite {
  /** The absolute, resolved workspace root. */
  readonly root: string;
  /** The absolute path of a folder in Haft's own state, for what it keeps on disk. Nobody has made it; all processes share it. */
  readonly folder: string;
}

/** A place that may not be as it was, as effects name it: look there again. Nothing need be there any more. */
export interface PathChange {
  readonly path: string;
  /** With everything below it. */
  readonly tree: boolean;
}

/** What is below roots, by path as effects name it: a stamp that differs once it was changed, with `d` before those of folders. */
export type TreeScan = ReadonlyMap<string, string>;

/** The handles there are. A capability adds its own, here or from its own file (`declare module`). */
export interface Capabilities {
  readonly fs: FsHandle;
  readonly exec: ExecHandle;
  readonly http: HttpHandle;
  readonly search: SearchHandle;
  readonly processes: ProcessHandle;
  readonly artifacts: ArtifactsHandle;
  readonly shells: ShellsHandle;
}

/** By the capability's name. */
export interface EffectViews {
  readonly shells: ShellsView;
}

/** Handles alone, without a life between calls: what a harness for tools needs. */
export type CapabilityFactories = {
  readonly [K in keyof Capabilities]: (scope: CallScope) => Capabilities[K];
};

/** What a factory gets: the one call that its handle serves. */
export interface CallScope {
  readonly callId: string;
  /** Absent where there are no sessions. */
  readonly session?: string;
  /** Absent where the process ends with the call. */
  readonly standing?: BeginStanding | undefined;
  /** The absolute, resolved workspace root. */
  readonly root: string;
  /** Absolute, resolved roots that policy grants beside it. */
  readonly extraRoots: readonly string[];
  readonly signal: AbortSignal;
  readonly objects: ObjectStore;
  /** For what is too long for an answer: kept as an artifact that the caller can read. Absent, `objects` keeps it. */
  readonly spills?: Pick<ObjectStore, 'putStream'>;
  readonly undo: { readonly keep: boolean; readonly maxBytes: number };
  /**
   * Throws unless the call declared `effect` and policy allows it. Where links were followed, `actual` is the
   * effect on the place that they led to, and policy is asked about that too.
   */
  admit(effect: Effect, actual?: Effect): void;
  /** A path as effects name it; see `EffectSite.place`. */
  readonly place: (path: string) => string;
  /** Whether the call holds the write lock of a place, by its real name. Absent where nothing will be changed. */
  readonly locked?: ((path: string) => boolean) | undefined;
  /** What policy says about whole programs, for handles that contain them. */
  readonly policy: ScopePolicy;
  /** True when policy lets tools see this path; for listings, which leave out rather than fail. */
  readonly visible: (path: string) => boolean;
  /**
   * True when a domain rule that allows this connection has `private: true`: the host may then resolve to addresses that
   * are not public. Says nothing about whether the connection is allowed; `admit` does. Absent means never.
   */
  privateHost?(target: EffectShapes['net.connect']): boolean;
  /**
   * Makes the intent durable, with everything needed to undo it. Must be awaited after staging and before the
   * first visible change. Called at most once for a call.
   */
  intend(changes: readonly Change[]): Promise<void>;
  warn(warning: Warning): void;
}

/**
 * The other names that a path, as effects name it, is locked by: where links lead from it now, with a link in its last
 * component followed and not. Empty for most paths.
 */
export type RealNames = (path: string, roots: Pick<CallScope, 'root' | 'extraRoots'>) => readonly string[];

/** What a sandbox must know of the policy that holds for a call. */
export interface ScopePolicy {
  /** Paths that are hidden from, or read-only to, this call's programs. */
  readonly fences: readonly Fence[];
  /** Programs that `shell_allow` names, so that their toolchains can be made visible. */
  readonly programs: readonly string[];
  /** Folders of packs, relative to the workspace: read-only. */
  readonly packs: readonly string[];
  /** `sandbox: optional`: where no sandbox can be had, run and say so. */
  readonly sandboxOptional: boolean;
  /** `limits.max_shells`, and the line that would let a session have more. */
  readonly shells?: { readonly most: number; readonly admit?: string };
}

/** A policy that has nothing to say about programs. */
export const NO_FENCES: ScopePolicy = { fences: [], programs: [], packs: [], sandboxOptional: false };

// ---------------------------------------------------------------------------------------------- files

/**
 * Files below the workspace root. Paths are as callers give them (relative, or absolute below a root);
 * every method normalises, resolves links beneath the root, asks `scope.admit`, and opens exactly what was checked.
 */
export interface FsHandle {
  /** Regular files only. Over `maxBytes` it throws `file.too_large` with `details.size`, reading nothing. */
  read(path: string, options?: ReadOptions): MaybePromise<FileContent>;
  /** Undefined when nothing is there. Does not follow a link in the last component. */
  stat(path: string): MaybePromise<EntryStat | undefined>;
  list(query: ListQuery): Promise<Listing>;
  /** A regular file, open until it is closed, for content that is too large to hold. */
  open(path: string): MaybePromise<OpenFile>;
  /**
   * Everything below a folder in bytewise order, hidden and ignored things too, but neither `.git` nor `.haft`. Links and
   * devices refuse the whole. Names only: `open` asks for each file.
   */
  tree(path: string): Promise<readonly TreeName[]>;
  /**
   * The only way to change anything. All or nothing: pre-images are stored, everything is staged, the intent
   * is made durable, and only then do the changes become visible, in order; a failure on the way restores
   * what was there. Answers with what changed, which is also what the audit keeps and `undo` reverses.
   */
  mutate(edits: readonly Edit[]): Promise<readonly Change[]>;
  /**
   * The changes that `mutate` would make, or the refusal that it would throw, for dry runs: admits the same effects,
   * but stores, stages, announces and changes nothing. Nothing is kept, so `stored` is false.
   */
  preview(edits: readonly Edit[]): Promise<readonly Change[]>;
  /** Throws the refusal that `mutate` would throw, and reads no content that it need not compare. */
  check(edits: readonly Edit[]): Promise<void>;
}

export interface ReadOptions {
  readonly maxBytes?: number;
  /** Bytes from `start` up to and without `end`; `end` beyond the file is the file's end. */
  readonly range?: { readonly start: number; readonly end: number };
}

export interface FileContent {
  readonly bytes: Uint8Array;
  /** The whole file's size, also when a range was read. */
  readonly size: number;
  readonly mode: number;
  /** Where the file really is, relative to the root, after links. */
  readonly path: string;
}

export interface EntryStat {
  readonly type: 'file' | 'dir' | 'link' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly mtimeMs: number;
}

/** `path` is from the folder that was asked for, which is not among them. */
export interface TreeName {
  readonly path: string;
  readonly type: 'file' | 'dir';
}

export interface ListQuery {
  readonly glob: string;
  readonly maxResults: number;
  readonly includeHidden: boolean;
  readonly includeIgnored: boolean;
  /** Directories as well as files (with a trailing slash). */
  readonly includeDirs?: boolean;
}

export interface Listing {
  /** Relative paths in bytewise order: the first `maxResults` of all that match. */
  readonly files: readonly string[];
  readonly truncated: boolean;
}

/** One change that a tool asks for. `expectedSha256` on any of them refuses with `file.conflict` when it does not hold. */
export type Edit =
  | {
      readonly op: 'write';
      readonly path: string;
      readonly bytes: Uint8Array;
      /** Permission bits; by default those of the file that is replaced, else 0644. */
      readonly mode?: number;
      readonly createDirs?: boolean;
      /** Refuse with `path.exists` when something is there. */
      readonly mustCreate?: boolean;
      readonly expectedSha256?: string;
    }
  | {
      readonly op: 'move' | 'copy';
      readonly from: string;
      readonly to: string;
      readonly overwrite: boolean;
      readonly createDirs?: boolean;
      /** For copies: keep permission bits. Moves always do. */
      readonly preserveMode?: boolean;
      readonly expectedSha256?: string;
    }
  | {
      readonly op: 'delete';
      readonly path: string;
      readonly recursive: boolean;
      /** Nothing there is no failure. */
      readonly force: boolean;
      readonly expectedSha256?: string;
    }
  /** Takes back an earlier change: the entry must still be `change.after`, and becomes `change.before`. */
  | { readonly op: 'revert'; readonly change: Change };

/** What is, or was, at a path. Files are known by their content. */
export type EntryState =
  | ({
      readonly type: 'file';
      readonly object: ObjectId;
      readonly size: number;
      readonly mode: number;
    } & MaybeOwned)
  | ({ readonly type: 'dir'; readonly mode: number } & MaybeOwned)
  | ({ readonly type: 'link'; readonly target: string } & MaybeOwned);

/** Known of what was on disk; what a call made is its own. */
export interface MaybeOwned {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * One path that changed: null means that nothing is there. A moved tree is one change with `movedFrom`, and
 * `fingerprint` (a digest over the entries' names, types, sizes, modes, inode numbers and times) in place of content.
 * `stored` says whether the bytes of `before` are in the object store, so that the change can be taken back.
 */
export interface Change {
  readonly path: string;
  readonly before: EntryState | null;
  readonly after: EntryState | null;
  readonly stored: boolean;
  readonly movedFrom?: string;
  readonly fingerprint?: string;
  /** What the entry should have and could not be given. Of an answer only; the record does not hold it. */
  readonly lost?: readonly Omit<Loss, 'path'>[];
}

/** A part of an entry that could not be restored or copied. */
export interface Loss {
  readonly path: string;
  readonly what: 'owner' | 'group' | 'set_user_id' | 'set_group_id' | 'permission_bits';
  readonly why: string;
}

export interface HistoryHandle {
  /** The changes of an earlier call, as its outcome (or, after a crash, its intent) recorded them. */
  changes(callId: string): Promise<CallHistory | undefined>;
  /**
   * The bytes that a file had before or after an earlier call changed it, while they are kept. Asks `admit` for
   * `fs.read` of the path.
   */
  content(callId: string, path: string, side: 'before' | 'after'): Promise<Uint8Array | undefined>;
  /** The call that took this one back, unless that was taken back in turn. */
  undoneBy(callId: string): Promise<string | undefined>;
}

export interface CallHistory {
  readonly callId: string;
  readonly tool: string;
  readonly changes: readonly Change[];
  readonly finished: boolean;
  readonly attribution?: JsonObject;
  /** What it replaced was given up by retention. */
  readonly givenUp?: true;
}

/** Looks at the process table, as far as the operating system shows it to this process. */
export interface ProcessHandle {
  /**
   * Asks `scope.admit` for `proc.list`. Secrets in command lines are made unreadable before anybody sees them. A process
   * that ends while it is looked at is left out. Throws `tool.failed` where the system has no /proc.
   */
  list(query: ProcessQuery): Promise<ProcessListing>;
}

export interface ProcessQuery {
  /** Whether a process is wanted, by its command line as it is shown. Absent: all are. */
  readonly wants?: ((cmd: string) => boolean) | undefined;
  readonly limit: number;
}

export interface ProcessListing {
  /** The first `limit`, those that used most processor time first, then in order of their ids. */
  readonly processes: readonly ProcessInfo[];
  /** How many are wanted in all. */
  readonly total: number;
}

export interface ProcessInfo {
  readonly pid: number;
  /** 0 where it has none that can be seen. */
  readonly ppid: number;
  /**
   * The command line, its arguments parted by blanks, cut at 4096 characters. The name in brackets where there is none:
   * kernel threads, and processes that have ended and wait to be collected. Bytes that are not UTF-8 are shown as U+FFFD.
   */
  readonly cmd: string;
  /**
   * Processor time in per cent of the time since it started, as `ps` shows %cpu: 100 is one processor kept busy, and
   * more than that several.
   */
  readonly cpu: number;
  /** Resident memory in MiB, as `ps` shows RSS. */
  readonly memMb: number;
  /** Whose rights it has (the effective user): a name, or the number where there is no name. */
  readonly user: string;
  /** When it started, in milliseconds since 1970; exact to a few clock ticks of 10 ms. */
  readonly startedMs: number;
}
