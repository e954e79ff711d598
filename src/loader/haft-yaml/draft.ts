// Owns: a policy that may still be wrong in places, as the checks that look at more than one value see it.
// Refuses: being handed on; what leaves the loader is a whole PolicyFile.
import type { DomainRule, PathRule, PolicyFile, ShellRule, ToolRule } from '../../contract/policy.ts';
import type { PatternCompiler } from '../../contract/policy-match.ts';
import type { Place } from '../yaml/located.ts';
import type { Report } from '../yaml/report.ts';

/** The same keys, each possibly missing, with gaps in lists where an entry was wrong. */
type Drafted<T> = T extends readonly (infer Item)[]
  ? readonly (Drafted<Item> | undefined)[]
  : T extends object
    ? { readonly [K in keyof T]?: Drafted<T[K]> }
    : T;

export type Draft = Drafted<PolicyFile>;
export type DraftRule = Drafted<ToolRule & PathRule & ShellRule & DomainRule>;

export interface DraftSite {
  readonly report: Report;
  readonly compilePattern: PatternCompiler | undefined;
  /** Where this key or entry was written. */
  place(path: string): Place;
}

/** A rule of a list with its path in the file. A text stands for a rule that only has `key`. */
export function rulesOf(
  list: readonly (Drafted<unknown> | undefined)[] | undefined,
  path: string,
  key: 'tool' | 'path' | 'pattern' | 'domain',
): readonly { readonly rule: DraftRule; readonly path: string }[] {
  return (list ?? []).flatMap((entry, at) => {
    if (entry === undefined || entry === null) return [];
    const rule = (typeof entry === 'string' ? { [key]: entry } : entry) as DraftRule;
    return [{ rule, path: `${path}[${at}]` }];
  });
}
