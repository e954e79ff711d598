// Owns: telling when an entry can never have a say, because a stricter one always matches with it.
// Refuses: guessing about wildcards; only entries that name one thing are compared with the others.
import type { Verdict } from '../../contract/policy.ts';
import { compilePathGlob, isStricter, matchesTool } from '../../contract/policy-match.ts';
import { type Draft, type DraftSite, rulesOf } from './draft.ts';

/** Of the rules that match, the strictest wins, whatever their order: who relies on order is told. */
export function checkShadowed(draft: Draft, site: DraftSite): void {
  const tools = rulesOf(draft.tools?.rules, 'tools.rules', 'tool').map(({ rule, path }) => ({
    path,
    subject: rule.paths ? undefined : rule.tool,
    verdict: rule.decision,
    matches: (id: string) => !rule.paths && rule.tool !== undefined && matchesTool(rule.tool, id),
  }));
  compare(tools, 'decision', site);
  for (const access of ['read', 'write'] as const) {
    const paths = rulesOf(draft.paths?.rules, 'paths.rules', 'path').map(({ rule, path }) => ({
      path,
      subject: rule.path,
      verdict: rule[access],
      matches: (file: string) =>
        safely(() => rule.path !== undefined && compilePathGlob(rule.path).matches(file)),
    }));
    compare(paths, access, site);
  }
}

interface Candidate {
  readonly path: string;
  readonly subject: string | undefined;
  readonly verdict: Verdict | undefined;
  matches(subject: string): boolean;
}

function compare(rules: readonly Candidate[], key: string, site: DraftSite): void {
  for (const { path, subject, verdict } of rules) {
    if (!verdict || !subject || /[*?[{\\]/.test(subject)) continue;
    const winner = rules.find(
      (other) => other.verdict && isStricter(other.verdict, verdict) && other.matches(subject),
    );
    if (!winner) continue;
    const message = `${path}.${key}: ${verdict} has no effect, because ${winner.path} (line ${site.place(winner.path).line}) says ${winner.verdict} and the strictest wins`;
    site.report.warn(
      'rule.shadowed',
      site.place(`${path}.${key}`),
      message,
      'make the stricter rule narrower',
    );
  }
}

function safely(match: () => boolean): boolean {
  try {
    return match();
  } catch {
    return false;
  }
}
