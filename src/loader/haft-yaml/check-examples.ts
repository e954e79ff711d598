// Owns: the examples that rules carry: each is decided as a call would be, and must come out as it says.
// Refuses: effects beyond the example's own section; the runtime decides whole calls.
import type { Verdict } from '../../contract/policy.ts';
import { isStricter } from '../../contract/policy-match.ts';
import { quoted } from '../yaml/located.ts';
import type { Draft, DraftSite } from './draft.ts';
import { type ExampleRule, type ExampleSection, exampleSections, type Subject } from './example-sections.ts';

export function checkExamples(draft: Draft, site: DraftSite): void {
  for (const section of exampleSections(draft, site)) {
    for (const rule of section.rules) {
      for (const kind of ['allow', 'deny'] as const) {
        for (const [at, example] of (rule.examples?.[kind] ?? []).entries()) {
          if (typeof example !== 'string') continue;
          const where = `${rule.path}.examples.${kind}[${at}]`;
          const problem = checkExample(section, rule, kind, example);
          if (problem) site.report.error('example.fails', site.place(where), `${where}: ${problem}`);
        }
      }
    }
  }
}

function checkExample(
  section: ExampleSection,
  rule: ExampleRule,
  kind: 'allow' | 'deny',
  example: string,
): string | undefined {
  const subjects = section.subjects(example, rule);
  if (!subjects) return `${quoted(example)} is not ${section.wanted}`;
  for (const subject of subjects) {
    const name = subject.access ? `${subject.access} of ${quoted(subject.text)}` : quoted(subject.text);
    const { verdict, by } = strictest(section, subject);
    if (kind === 'allow' && verdict !== 'allow')
      return `${name} must be let through, and ${by} says ${verdict}`;
    if (kind === 'deny' && verdict === 'allow')
      return `${name} must not be let through, and ${by} says allow`;
    // The examples that show what a rule is for must be its own doing, not another rule's.
    const shows = rule.says(subject) === 'allow' ? 'allow' : 'deny';
    if (kind === shows && !rule.matches(subject)) return `${name} is not matched by this rule, but by ${by}`;
  }
  return undefined;
}

function strictest({ rules, byDefault }: ExampleSection, subject: Subject): { verdict: Verdict; by: string } {
  let found: { verdict: Verdict; by: string } | undefined;
  for (const rule of rules) {
    const verdict = rule.says(subject);
    if (!verdict || (found && !isStricter(verdict, found.verdict)) || !rule.matches(subject)) continue;
    found = { verdict, by: rule.path };
  }
  return found ?? { verdict: byDefault, by: 'the default' };
}
