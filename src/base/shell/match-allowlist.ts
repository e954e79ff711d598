// Owns: matching canonical commands against the patterns of a policy, in time linear in the command.
// Refuses: look-around and back-references, which could make a pattern backtrack: they do not compile.
import type { SimpleCommand } from './analysis.ts';

/** A row of `shell_allow`. */
export interface AllowEntry {
  readonly pattern: string;
  /** An entry that allows must match from the start of the command; one that asks or denies may match anywhere. */
  readonly decision?: 'allow' | 'ask' | 'deny';
  readonly examples?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
}

export interface AllowMatch<C> {
  readonly command: C;
  /** Indices of every entry that matched; empty when none did. */
  readonly entries: readonly number[];
}

/** What is wrong with an entry, for the loader of the policy. */
export interface AllowProblem {
  readonly entry: number;
  readonly message: string;
}

/** Which entries match each command. An entry whose pattern does not compile matches nothing, or everything if it denies. */
export async function matchAllowlist<C extends Pick<SimpleCommand, 'canonical'>>(
  commands: readonly C[],
  entries: readonly AllowEntry[],
): Promise<AllowMatch<C>[]> {
  const matchers = await compileAll(entries);
  return commands.map((command) => ({
    command,
    entries: matchers.flatMap((matches, index) => (matches(command.canonical) ? [index] : [])),
  }));
}

/** Every entry that does not compile, or that does not decide its own examples as it says. */
export async function checkAllowlist(entries: readonly AllowEntry[]): Promise<AllowProblem[]> {
  const { RE2JS } = await import('re2js');
  const { analyzeShell } = await import('./analyze-shell.ts');
  const problems: AllowProblem[] = [];
  for (const [entry, { pattern, decision, examples }] of entries.entries()) {
    try {
      RE2JS.compile(pattern);
    } catch (error) {
      problems.push({ entry, message: `Cannot use the pattern ${pattern}: ${(error as Error).message}` });
      continue;
    }
    const { allow = [], deny = [] } = examples ?? {};
    const matches = async (line: string) => {
      const analysis = await analyzeShell(line);
      if (!analysis.ok) return false;
      const found = await matchAllowlist(analysis.commands, [{ pattern, ...(decision ? { decision } : {}) }]);
      const hit = ({ entries: hits }: AllowMatch<unknown>) => hits.length > 0;
      return decision === 'deny' || decision === 'ask'
        ? found.some(hit)
        : found.length > 0 && found.every(hit);
    };
    const wanted = decision === 'deny' ? [deny, allow] : [allow, deny];
    for (const line of wanted[0]!)
      if (!(await matches(line)))
        problems.push({ entry, message: `The pattern ${pattern} does not match its example ${line}` });
    for (const line of wanted[1]!)
      if (await matches(line))
        problems.push({ entry, message: `The pattern ${pattern} matches its counter-example ${line}` });
  }
  return problems;
}

async function compileAll(entries: readonly AllowEntry[]): Promise<((canonical: string) => boolean)[]> {
  const { RE2JS } = await import('re2js');
  return entries.map(({ pattern, decision }) => {
    try {
      const compiled = RE2JS.compile(pattern);
      if (decision === 'deny' || decision === 'ask') return (canonical) => compiled.matcher(canonical).find();
      return (canonical) => compiled.matcher(canonical).lookingAt();
    } catch {
      return () => decision === 'deny';
    }
  });
}
