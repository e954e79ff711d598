// Owns: what a rule (a check over code, a diff or a commit) is.
// Refuses: rules themselves; each is a file of its own below `rules/`.
import type { Change, FsHandle } from './capability.ts';
import type { Effect } from './effect.ts';
import type { MaybePromise } from './json.ts';
import type { Enforcement } from './policy.ts';

export interface RuleDefinition {
  /** Its id is its file name: `code.todo.blockers`. */
  readonly id: string;
  readonly category: string;
  readonly level: Enforcement;
  readonly description: string;
  /** Tool ids (globs) after whose success this rule looks at the call. */
  readonly triggers: readonly string[];
  check(subject: RuleSubject): MaybePromise<readonly Violation[]>;
}

/** What a rule may look at: the call, what it changed, and files through the same guarded reading. */
export interface RuleSubject {
  readonly tool: string;
  readonly args: unknown;
  /** What the call declared, and whether policy allows each. */
  readonly effects: readonly Effect[];
  allows(effect: Effect): boolean;
  readonly changes: readonly Change[];
  readonly files: Pick<FsHandle, 'read' | 'stat' | 'list'>;
  readonly signal: AbortSignal;
}

export interface Violation {
  readonly rule: string;
  readonly message: string;
  readonly path?: string;
  readonly line?: number;
}

/** The ids of the SDK spec's catalogue. One that is not built and is set to blocking refuses start-up. */
export const RULE_CATALOGUE = [
  'sec.network.allowlist',
  'sec.shell.allowlist',
  'sec.paths.sandbox',
  'sec.git.clean_tree',
  'code.ast.parsed',
  'build.must.pass',
  'lint.must.pass',
  'fmt.must.pass',
  'code.todo.blockers',
  'test.required.changed',
  'secrets.scan',
  'code.fn.docs.exported',
  'code.no.panic.in.lib',
  'code.no.unwrap',
  'code.mod.import.rules',
  'commit.message.conventional',
  'branch.naming.convention',
] as const;

/**
 * Of those, what policy decides on every call and at every access, whether or not `validators` names it: there is nothing
 * left to look at when the call is over, so no rule is built for it.
 */
export const ENFORCED_BY_POLICY: { readonly [rule: string]: string } = {
  'sec.network.allowlist': 'network.allowed_domains is asked before every connection, on every redirect',
  'sec.shell.allowlist': 'shell_allow is asked about every command before the line runs',
  'sec.paths.sandbox': 'every path is held to the workspace, before the call and where it is opened',
};
