// Owns: what operations work with: the runtime and everything beside it that a workspace has, as handles.
// Refuses: to say how; preset/operation-handles.ts wires them, each loaded when it is first used.
import type { ArtifactStore } from './artifacts.ts';
import type { CredentialNeed, Credentials } from './credentials.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { JsonObject } from './json.ts';
import type { Drift, Unpinned } from './lock.ts';
import type { HealthReport } from './manifest.ts';
import type { Decision, PolicyChange, Verdict } from './policy.ts';
import type { PackState, Runtime, ToolListing } from './runtime.ts';
import type { AuditHead, AuditRow, GivenUp, StoreSizes } from './store.ts';

export interface OperationHandles {
  /** Opened on first use, unless the host lives. */
  runtime(): Promise<HostRuntime>;
  /** Throws `tool.unknown`; `tool.unhealthy` where its pack is not there, `tool.disabled` where that is not open. */
  findTool(id: string): Promise<ToolListing>;
  searchTools(words: string, limit: number): Promise<readonly FoundTool[]>;
  /** Packs that the policy of a workspace around this one does not name: lines, '' where there is none. */
  unnamedPacks(): Promise<string>;
  readonly packs: PackHandles;
  credentials<T>(use: (credentials: Credentials) => Promise<T>): Promise<T>;
  /** What the packs of the workspace declare that they need. */
  credentialNeeds(): Promise<readonly (CredentialNeed & { readonly by: string })[]>;
  readonly trust: TrustHandles;
  readonly policies: PolicyHandles;
  readonly proofs: ProofHandles;
  /** Whether the workspace has a `.haft`. */
  hasState(): Promise<boolean>;
  /** Where runs can be executed, whether or not policy grants it. */
  backendNames(): Promise<readonly string[]>;
  /** Everything that Haft needs, tried. */
  diagnose(): Promise<readonly Finding[]>;
}

/** A runtime as hosts open it. */
export interface HostRuntime extends Runtime {
  /** The absolute workspace folder. */
  readonly workspace: string;
  /** How each pack is, by name; one whose server is not there says why. */
  packs(): readonly PackState[];
  /** The artifacts of the workspace, for whoever answers for it: no policy is asked. */
  artifacts(): Promise<ArtifactStore>;
  /** Gives up what is older than the policy keeps; a living runtime does so by itself. Throws `policy.untrusted`. */
  cleanUp(options?: CleanUpOptions): Promise<CleanUpReport>;
  /** How large what is in `.haft`. */
  sizes(): Promise<StateSizes>;
}

export interface CleanUpOptions {
  /** Say what would go, and change nothing. */
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
  /** Told what was done since. */
  readonly onProgress?: (message: string) => void;
  /** Told once what went, also where it ended early; not where nothing did. */
  readonly onGone?: (report: CleanUpReport) => Promise<void>;
}

export interface CleanUpReport {
  /** Rows of the audit that went from the database into segments. */
  readonly archived: { readonly rows: number };
  readonly undo: Omit<GivenUp, 'upTo'>;
  readonly objects: { readonly objects: number; readonly bytes: number };
  /** Bytes by which the database file is smaller; null of a dry run, since only doing it tells. */
  readonly shrunk: number | null;
}

export interface StateSizes extends StoreSizes {
  /** Everything below `.haft`. */
  readonly total: number;
  /** Bytes of objects by what refers to them; one that several do is counted at the first: artifacts, runs, undo, nothing. */
  readonly objects: {
    readonly artifacts: number;
    readonly runs: number;
    readonly undo: number;
    readonly unreferenced: number;
  };
  /** Below `.haft/runs`: what attempts work in. */
  readonly runs: number;
  readonly quarantine: number;
  readonly packs: number;
}

/** What one check of `haft doctor` found. */
export interface Finding {
  readonly name: string;
  /** `weaker` works, with less of a guarantee than elsewhere. `absent` is a program that not everybody needs. */
  readonly state: 'ok' | 'weaker' | 'absent' | 'failed';
  readonly evidence: string;
  readonly fix?: string;
}

export interface FoundTool {
  readonly id: string;
  readonly title: string;
  readonly origin: string;
  readonly enabled: boolean;
  readonly score: number;
}

export interface PackHandles {
  /** By name. */
  list(): Promise<readonly PackListing[]>;
  /** Throws `pack.unknown`. */
  show(name: string): Promise<PackListing>;
  /** Those that change something record it, and hold at once in a host that lives. */
  add(name: string, entry: JsonObject): Promise<ReachedPack>;
  configure(
    name: string,
    config: JsonObject,
  ): Promise<ReachedPack & { readonly quarantined: readonly string[] }>;
  remove(name: string): Promise<void>;
  /** Answers whether that changed anything. */
  enable(name: string, enabled: boolean): Promise<boolean>;
  /** The last lines that a server wrote to its standard error. */
  log(name: string, most: number): Promise<readonly string[]>;
  /** One look at each; at all of them where none is named. */
  health(wanted: readonly string[]): Promise<readonly (readonly [name: string, report: HealthReport])[]>;
  /** What tools are now beside what haft.lock has. `shown` is the digest of what a person saw. */
  lock(step: 'look' | 'add' | 'accept' | 'frozen', shown?: string): Promise<LockReport>;
}

export interface PackListing {
  readonly name: string;
  readonly kind: string;
  readonly from: 'haft.yaml' | 'added';
  readonly enabled: boolean;
  /** Of a pack in a folder: relative to haft.yaml. */
  readonly path?: string;
  readonly config: JsonObject;
}

export interface ReachedPack {
  readonly tools: readonly string[];
  readonly problems?: readonly string[];
}

export interface LockReport {
  /** Nothing waits for a person; under `frozen`: nothing differs. */
  readonly ok: boolean;
  readonly written: boolean;
  readonly drifts: readonly Drift[];
  /** SHA-256 of haft.lock as it would be if all of this were accepted: what was shown. */
  readonly digest: string;
  readonly packs: number;
  readonly tools: number;
  /** What tools run and no digest covers, by pack. */
  readonly unpinned: readonly (Unpinned & { readonly pack: string })[];
  /** The drifts, as people read them. */
  readonly lines: readonly string[];
}

export interface TrustHandles {
  question(): Promise<TrustQuestion>;
  list(): Promise<readonly { readonly folder: string; readonly sha256: string; readonly since: string }[]>;
  /** Answers whether it was trusted. */
  revoke(): Promise<boolean>;
}

export interface TrustQuestion {
  /** `nothing`: no haft.yaml, and none was trusted. `same`: as it was trusted. */
  readonly state: 'nothing' | 'same' | 'asked';
  readonly sha256: string;
  /** For a person: what is granted, or what is different. */
  readonly lines: readonly string[];
  /** Keeps that what was shown is trusted; what it became meanwhile is held against that. */
  keep(): void;
}

export interface PolicyHandles {
  /** Every problem of haft.yaml, or of another file, and of its packs. */
  check(file?: string): Promise<PolicyVerdict>;
  /** What was trusted beside what is there. */
  diff(): Promise<PolicyDiff>;
  suggest(rows: readonly AuditRow[]): Promise<PolicySuggestions>;
  /** Puts a grant into haft.yaml, in its layout. Adopts nothing: whoever trusted the file is asked again where it grants more. */
  write(admit: string): Promise<WrittenPolicy>;
  /** Decides calls again by another policy file. */
  replay(
    rows: readonly AuditRow[],
    file: string,
  ): Promise<readonly { readonly row: AuditRow; readonly before: Verdict; readonly after: Decision }[]>;
}

export interface PolicyVerdict {
  readonly ok: boolean;
  readonly diagnostics: readonly Diagnostic[];
  readonly name?: string | undefined;
}

export interface PolicyDiff {
  /** Whether a command would use the policy as it is. */
  readonly trusted: boolean;
  /** Whether there is something to compare with. */
  readonly known: boolean;
  readonly sha256: string;
  readonly changes: readonly PolicyChange[];
  readonly lockChanged: boolean;
  /** The changes, as people read them. */
  readonly lines: readonly string[];
}

export interface WrittenPolicy {
  /** A unified diff of haft.yaml; empty where nothing changed. */
  readonly diff: string;
  readonly sha256: string;
  /** It is used as it is; false: after `haft trust`. */
  readonly trusted: boolean;
}

export interface PolicySuggestions {
  readonly suggestions: readonly {
    readonly admit: string;
    readonly calls: number;
    readonly tools: readonly string[];
  }[];
  readonly admit: string;
  readonly unoffered: readonly {
    readonly reason: string;
    readonly calls: number;
    readonly tools: readonly string[];
  }[];
  /** Too dangerous to be offered. `what` can hold anything that a caller sent. */
  readonly flagged: readonly {
    readonly what: string;
    readonly why: string;
    readonly calls: number;
    readonly tools: readonly string[];
  }[];
}

export interface ProofHandles {
  /** The bundle of a run that succeeded, piece by piece. */
  bundle(runId: string): AsyncIterable<Uint8Array>;
  /** The audit as it stands, signed by this host. */
  sign(): Promise<{ readonly checkpoint: string; readonly key: string; readonly size: number }>;
  /** Throws unless the audit continues the one that this host signed the checkpoint of. */
  check(note: string): Promise<void>;
  /** The audit against the head that is kept outside of the workspace. */
  keptHead(): Promise<KeptHead>;
  /** The audit as it is now counts from here on. */
  acceptHead(): Promise<void>;
}

export interface KeptHead {
  /**
   * `holds`: the audit goes on from the kept head. `none`: nothing is kept (yet). `moved`: it is, for the folder where the
   * workspace was. `behind`: rows are missing, as after a backup was put back, or after the tail was cut. `replaced`: this is
   * another audit, or an empty one. `rewritten`: the rows up to the kept head are others. The last two are failures.
   */
  readonly state: 'holds' | 'none' | 'moved' | 'behind' | 'replaced' | 'rewritten';
  readonly message: string;
  readonly kept?: AuditHead;
  readonly file?: string;
  /** It was like this the last time as well. */
  readonly noted?: true;
}
