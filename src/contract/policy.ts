// Owns: the shape of haft.yaml, and what a decision says.
// Refuses: parsing (loader/haft-yaml) and deciding (src/policy).
import type { Effect, EffectShapes } from './effect.ts';
import type { Reason } from './errors.ts';
import type { Json, JsonObject } from './json.ts';
import type { RunResources } from './plan.ts';

export type Verdict = 'allow' | 'ask' | 'deny';

/**
 * haft.yaml as written: snake_case, every key optional but `version`. Sections of the SDK spec §4 come first.
 * Of all the rules that match a call the strictest wins: deny before ask before allow.
 */
export interface PolicyFile {
  readonly version: 1;
  readonly network?: { readonly allowed_domains?: readonly (string | DomainRule)[] };
  readonly shell_allow?: readonly (string | ShellRule)[];
  readonly git?: { readonly allow_push?: boolean; readonly require_clean_tree_for_commit?: boolean };
  readonly ast?: {
    readonly language?: string;
    readonly format_on_save?: boolean;
    readonly validate_on_edit?: boolean;
  };
  readonly validators?: readonly ValidatorSetting[];

  /** Which tools may be called at all. */
  readonly tools?: { readonly default?: Verdict; readonly rules?: readonly ToolRule[] };
  readonly paths?: {
    /** Folders beside the workspace, relative to haft.yaml or absolute, that paths may lie below. */
    readonly extra_roots?: readonly string[];
    readonly rules?: readonly PathRule[];
  };
  /** What a session may use up, unless it is opened with less. */
  readonly budgets?: { readonly calls?: number; readonly wall_ms?: number; readonly bytes?: number };
  /** The smaller of these and a tool's own limits holds. */
  readonly limits?: {
    readonly max_input_bytes?: number;
    readonly max_output_bytes?: number;
    readonly timeout_ms?: number;
    readonly max_shells?: number;
  };
  readonly approvals?: { readonly expire_ms?: number };
  readonly undo?: {
    readonly max_bytes?: number;
    readonly keep?: { readonly days?: number; readonly bytes?: number };
  };
  /** How much of the audit stays in the database; older rows go into compressed segments. None is ever removed. */
  readonly audit?: { readonly keep?: { readonly days?: number; readonly rows?: number } };
  /** `required` (the default) refuses what needs a sandbox where none can be had; `optional` runs it and says so. */
  readonly sandbox?: 'required' | 'optional';
  /** Packs, as paths relative to haft.yaml or as descriptions. */
  readonly packs?: readonly (string | JsonObject)[];
  /** Where deterministic runs are executed, on which images, and how much they may use up. */
  readonly runs?: RunsPolicy;
}

/** Background shells of a host: each is a sandbox of some processes. */
export const MOST_SHELLS = 64;

/** What holds where a policy names no number. A number that is not here is one that is not limited, or that others limit too. */
export const POLICY_DEFAULTS = {
  limits: { max_shells: 8 },
  approvals: { expire_ms: 15 * 60_000 },
  undo: { max_bytes: 64 * 1024 * 1024 },
  undoKeep: { days: 30, bytes: 512 * 1024 * 1024 },
  auditKeep: { days: 30, rows: 20_000 },
  runLimits: { log_bytes: 16 * 1024 * 1024, processes: 1024 },
} as const;

/** Of the packs that are named by their folder, in the order in which they are named. */
export const packFolders = ({ packs = [] }: { readonly packs?: readonly unknown[] }): readonly string[] =>
  packs.flatMap((pack) => {
    const path = typeof pack === 'object' && pack !== null && 'path' in pack ? pack.path : pack;
    return typeof path === 'string' ? [path] : [];
  });

/** One of `backends/index.ts`. */
export type BackendName = string;

/** Without any of it: `local` alone, and no image. Each backend adds its own settings, by declaration merging in its module. */
export interface RunsPolicy {
  /** Where runs are executed when neither a rule nor the caller says otherwise; `local` by default. */
  readonly backend?: BackendName;
  /** What callers may choose beside it. */
  readonly backends?: readonly BackendName[];
  /** Of the rules that match a tool the first holds. */
  readonly rules?: readonly RunRule[];
  /** Images that docker and slurm may run. A text is an entry with `image` alone. */
  readonly images?: readonly (string | ImageRule)[];
  /** The smaller of these and what a plan asks for holds. */
  readonly limits?: RunLimits;
  /** Where attempts work; nodes of a cluster must see it at the same path. By default `.haft/runs`. */
  readonly folder?: string;
}

export interface RunRule {
  /** A glob over tool ids. */
  readonly tool: string;
  readonly backend: BackendName;
  readonly backends?: readonly BackendName[];
}

export interface ImageRule {
  /** `name@sha256:…`, `sha256:…`, a repository, `name:tag`, or a prefix: `registry/*`. */
  readonly image: string;
  /** What toolpacks call it: it stands for `image`, which is a digest then, and no engine is asked. */
  readonly name?: string;
  /** Globs over tool ids; without it all. */
  readonly tools?: readonly string[];
}

export interface RunLimits {
  readonly cpus?: number;
  readonly memory_bytes?: number;
  readonly wall_ms?: number;
  readonly output_bytes?: number;
  readonly log_bytes?: number;
  readonly processes?: number;
}

/** The limit that holds for each resource that a plan asks for. */
export const LIMIT_OF: { readonly [K in keyof RunResources]: keyof RunLimits } = Object.freeze({
  cpus: 'cpus',
  memoryBytes: 'memory_bytes',
  wallMs: 'wall_ms',
  outputBytes: 'output_bytes',
});

/** Calls that a rule must let through and must not, checked whenever the policy is loaded. */
export interface RuleExamples {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** `tool` is a glob over tool ids; with `paths`, only calls that touch one of those match. */
export interface ToolRule {
  readonly tool: string;
  readonly decision: Verdict;
  readonly paths?: readonly string[];
  readonly examples?: RuleExamples;
}

/** `path` is a glob over workspace-relative paths. `read` and `write` say what happens to those who match. */
export interface PathRule {
  readonly path: string;
  readonly read?: Verdict;
  readonly write?: Verdict;
  /**
   * What stands in a tool's way also stands in the way of sandboxed programs, which cannot be asked about one file:
   * `deny`, the default. `allow` binds tools alone: where `path` matches, no rule of this file keeps programs from
   * what this rule names (`read`, `write`).
   */
  readonly programs?: 'allow' | 'deny';
  readonly examples?: RuleExamples;
  /** Of a workspace around this one, as read from here: which of its rules it is. Not for haft.yaml. */
  readonly number?: number;
}

/** `pattern` is a linear-time regular expression over the canonical simple command. */
export interface ShellRule {
  readonly pattern: string;
  readonly decision?: Verdict;
  readonly examples?: RuleExamples;
}

/** `example.org`, `*.example.org`, or with a port: `localhost:8080`. */
export interface DomainRule {
  readonly domain: string;
  readonly decision?: Verdict;
  /** Names private or loopback addresses that this host may resolve to. */
  readonly private?: boolean;
  readonly examples?: RuleExamples;
}

export type Enforcement = 'blocking' | 'warning' | 'suggestion';

export interface ValidatorSetting {
  readonly rule: string;
  readonly enforcement: Enforcement;
}

/** The rule that audit rows of what people change outside of calls were decided by. No policy has a rule of this name. */
export const MANAGEMENT = 'management';

/** The name of the policy that holds where none is trusted: nothing can be called. */
export const UNTRUSTED_POLICY = '(untrusted)';

/** A policy as a loader hands it over: checked, with the place of every rule. */
export interface LoadedPolicy {
  readonly file: PolicyFile;
  /** The name to show, relative to the workspace: `haft.yaml`, or `(defaults)` where there is none. */
  readonly name: string;
  /** Line of each rule by its path in the file: `paths.rules[2]` → 14. */
  readonly lines: { readonly [rule: string]: number };
  /** sha256 of the file's bytes; provenance, not identity. */
  readonly sha256: string;
  /** Of the workspaces around this one, as read from here and whole: what one of them does not grant is not granted. */
  readonly outer?: readonly OuterPolicy[];
  /** Packs that were taken out because the policy of a workspace around this one does not name them, each with that one's name. */
  readonly unnamed?: readonly { readonly pack: string | JsonObject; readonly by: string }[];
  /** Where its paths lead on this machine: absolute, links followed. Absent where no file was read. */
  readonly resolved?: {
    readonly workspace: string;
    readonly extraRoots: readonly string[];
    /** Which entry of `paths.extra_roots` each is, where a workspace around this one closes some of them. */
    readonly rootNumbers?: readonly number[];
    /** Of the packs that are named by their folder, as `packFolders` lists them. */
    readonly packs: readonly string[];
    /** Files that packs are made of beside their folders, once those are open. */
    readonly beside?: readonly string[];
    /** What of Haft's own folders of this user lies in the workspace, and of the links that lead to them. */
    readonly own?: { readonly folders: readonly string[]; readonly links: readonly string[] };
    /** What capabilities keep in the workspace, by path from there. */
    readonly kept?: readonly { readonly path: string; readonly capability: string }[];
  };
}

export interface OuterPolicy {
  /** The name to show: `../haft.yaml`. */
  readonly name: string;
  readonly file: PolicyFile;
}

/** Why a call may or may not go on. */
export interface Decision {
  readonly verdict: Verdict;
  /** What decided: `paths.rules[2]`, `tools.default`, `protected:.haft`. */
  readonly rule: string;
  readonly line?: number;
  /** Of a denial or an ask: its row in the error table. */
  readonly reason?: Reason;
  /** For people: which effect met which rule. */
  readonly message: string;
  /** The exact haft.yaml text that would admit the call, or absent where nothing can. */
  readonly admit?: string;
  readonly effect?: Effect;
}

/** A path rule as something that contains programs needs it: what may not be read, and what may not be written. */
export interface Fence {
  readonly glob: string;
  readonly read: boolean;
  readonly write: boolean;
  /** Globs of paths that it does not hold for, nor below them: rules with `programs: allow`. */
  readonly except?: readonly string[];
  /** For a person: `paths.rules[2] (haft.yaml line 14)`. */
  readonly where?: string;
  /** What haft.yaml would have to say to open it to programs and leave it as it is for tools; absent where nothing can. */
  readonly admit?: string;
  /** Haft's own folders, and links to them: where a mount cannot hold it, no program runs. */
  readonly own?: true;
}

/** A policy ready to decide. Immutable; a reload makes another. */
export interface PolicyEngine {
  /** With what narrows it. */
  readonly loaded: LoadedPolicy;
  /** As haft.yaml has it: what a line there can change. */
  readonly host: PolicyFile;
  /** `policy/v1` digest of the whole file's meaning. */
  readonly hash: string;
  /** `policy/v1` digest of what can change this tool's output: its grants and limits; never budgets, asks or other tools. */
  hashFor(tool: string): string;
  /** What that is the digest of, as canonical JSON: for proofs that must hold when the policy is another one. */
  projectionFor(tool: string): Uint8Array;
  /**
   * Loads what deciding these effects needs (patterns for commands), which no other call should wait for. To be
   * awaited before `decide`; answers undefined where everything is at hand. Until then such effects are denied.
   */
  ready?(effects: readonly Effect[]): Promise<void> | undefined;
  /** The strictest decision over the tool and all of its effects, and every decision that was looked at. */
  decide(
    tool: string,
    effects: readonly Effect[],
  ): { readonly decision: Decision; readonly all: readonly Decision[] };
  /** Which paths this tool may be shown, for listings that ask thousands of times. */
  sees(tool: string): (path: string) => boolean;
  /** Every path rule that stands in the way of this tool's programs; what asks stands in the way, too. */
  fences(tool: string): readonly Fence[];
  /** True when the rule that allows this connection has `private: true`. */
  allowsPrivate(target: EffectShapes['net.connect']): boolean;
  /** One effect alone, for the re-check at the access. */
  decideEffect(tool: string, effect: Effect): Decision;
}

/** What differs between two policies, by its key. */
export interface PolicyChange {
  /** Such as `shell_allow` or `limits.timeout_ms`. */
  readonly key: string;
  /** Absent where it was not there. */
  readonly before?: Json;
  /** Absent where it is gone. */
  readonly after?: Json;
  /** Something may be possible that was not. */
  readonly widens: boolean;
}
