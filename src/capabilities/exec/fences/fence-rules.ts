// Owns: which of policy's rules keep a name from programs, and whether one name of a folder is more forbidden below than another.
// Refuses: to look at the disk.
import type { Fence } from '../../../contract/policy.ts';
import { compilePathGlob, type PathMatcher } from '../../../contract/policy-match.ts';

export interface FenceRules {
  /** What holds for this name; undefined where it is free. */
  met(name: string): MetRules | undefined;
  /** The rule that may match below a folder by this name and does not by the other: with none, by any path whatever. */
  leadsOn(name: string, other?: string, access?: 'read'): FenceRule | undefined;
  /** Equal for names below which the same is forbidden. */
  progress(name: string): string;
  find(name: string, access: 'read' | 'write'): FenceRule | undefined;
}

export interface MetRules {
  /** The rule to name: the one about reading, where there is one. */
  readonly rule: FenceRule;
  readonly hidden: boolean;
  readonly forbidden: boolean;
}

export interface FenceRule {
  readonly glob: string;
  readonly read: boolean;
  readonly write: boolean;
  /** For people. */
  readonly where: string;
  readonly admit: string | undefined;
  readonly own: boolean;
}

export function compileFences(fences: readonly Fence[]): FenceRules {
  const rules = fences.map(compile);
  const met = (name: string): MetRules | undefined => {
    let read: CompiledRule | undefined;
    let write: CompiledRule | undefined;
    for (const rule of rules) {
      if ((read || !rule.read) && (write || !rule.write)) continue;
      if (!rule.matches(name)) continue;
      if (rule.read) read ??= rule;
      if (rule.write) write ??= rule;
    }
    const rule = read ?? write;
    return rule && { rule, hidden: read !== undefined, forbidden: write !== undefined };
  };
  return {
    met,
    leadsOn: (name, other, access) =>
      rules.find((rule) => (access === undefined || rule[access]) && rule.leadsOn(name, other)),
    progress: (name) => rules.map((rule) => rule.progress(name)).join(';'),
    find: (name, access) => rules.find((rule) => rule[access] && rule.matches(name)),
  };
}

interface CompiledRule extends FenceRule {
  matches(name: string): boolean;
  leadsOn(name: string, other: string | undefined): boolean;
  progress(name: string): string;
}

/** A name that no rule means: only what begins with `**` goes on below it as it began. */
const ANY = '\u0001';

function compile(fence: Fence): CompiledRule {
  const { glob, read, write, except = [] } = fence;
  const matcher = compilePathGlob(glob);
  const freed: PathMatcher[] = except.flatMap((one) =>
    one.endsWith('**') ? [compilePathGlob(one)] : [compilePathGlob(one), compilePathGlob(`${one}/**`)],
  );
  let everywhere: ReadonlySet<number> | undefined;
  const met = (name: string) => matcher.progress(name);
  return {
    glob,
    read,
    write,
    where: `${fence.where ?? 'paths.rules'}: ${glob}`,
    admit: fence.admit,
    own: fence.own === true,
    matches: (name) => matcher.matches(name) && !freed.some((one) => one.matches(name)),
    leadsOn(name, other) {
      const ahead = met(name);
      if (ahead.length === 0) return false;
      // Where one holds an end of its pattern that begins anew at any depth, so does every other name.
      everywhere ??= new Set(met(ANY).filter((step) => met('.').includes(step)));
      const known = other === undefined ? everywhere : new Set(met(other));
      return ahead.some((step) => !known.has(step)) && !freed.some((one) => one.matches(name));
    },
    progress: (name) => [matcher, ...freed].map((one) => one.progress(name).join()).join(':'),
  };
}
