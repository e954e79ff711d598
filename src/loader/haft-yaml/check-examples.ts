// Owns: the examples that rules carry: each is decided as a call would be, and must come out as it says.
// Refuses: effects beyond the example's own section; the runtime decides whole calls.
import { quoted } from '../../contract/diagnostic.ts';
import type { Verdict } from '../../contract/policy.ts';
import { isStricter } from '../../contract/policy-match.ts';
import type { Draft, DraftSite, ExampleList, ExampleRule, Subject } from '../../policy/section.ts';
import { SECTIONS } from '../../policy/sections/index.ts';

export async function checkExamples(draft: Draft, site: DraftSite): Promise<void> {
  for (const section of SECTIONS) {
    const list = await section.written().examples?.(draft);
    for (const rule of list?.rules ?? []) {
      for (const kind of ['allow', 'deny'] as const) {
        for (const [at, example] of (rule.examples?.[kind] ?? []).entries()) {
          if (typeof example !== 'string') continue;
          const where = `${rule.path}.examples.${kind}[${at}]`;
          const problem = await checkExample(list!, rule, kind, example);
          if (problem) site.error('example.fails', where, `${where}: ${problem}`);
        }
      }
    }
  }
}

type Kind = 'allow' | 'deny';

async function checkExample(
  list: ExampleList,
  rule: ExampleRule,
  kind: Kind,
  example: string,
): Promise<string | undefined> {
  const read = await list.read(example, rule);
  if (!read) return `${quoted(example)} is not ${list.wanted}`;
  if ('refused' in read) return checkRefused(rule, kind, example, read.refused);
  for (const call of read.calls) {
    const problem = checkCall(list, rule, kind, example, call);
    if (problem) return problem;
  }
  return undefined;
}

/** What is refused whatever the policy says is denied, and shows nothing about a rule. */
function checkRefused(rule: ExampleRule, kind: Kind, example: string, why: string): string | undefined {
  if (kind === 'allow') return `${quoted(example)} must be let through, and no policy would: ${why}`;
  const shows = rule.says({ text: example }) !== 'allow';
  return shows ? `${quoted(example)} is not matched by this rule, but refused before: ${why}` : undefined;
}

/** As of a call, the strictest decision over all that it would do counts. */
function checkCall(
  list: ExampleList,
  rule: ExampleRule,
  kind: Kind,
  example: string,
  subjects: readonly Subject[],
): string | undefined {
  const decided = subjects.map((subject) => ({ subject, ...decide(list, subject) }));
  const worst = decided.reduce<Decided | undefined>(
    (worst, one) => (!worst || isStricter(one.verdict, worst.verdict) ? one : worst),
    undefined,
  );
  if (!worst)
    return kind === 'deny' ? `${quoted(example)} must not be let through, and runs nothing` : undefined;
  const name = nameOf(worst.subject, example);
  if (kind === 'allow' && worst.verdict !== 'allow')
    return `${name} must be let through, and ${worst.by} says ${worst.verdict}`;
  if (kind === 'deny' && worst.verdict === 'allow')
    return `${name} must not be let through, and ${worst.by} says allow`;
  // The examples that show what a rule is for must be its own doing, not another rule's.
  const own = subjects.some((subject) => rule.matches(subject));
  const shows = rule.says(worst.subject) === 'allow' ? 'allow' : 'deny';
  return kind === shows && !own ? `${name} is not matched by this rule, but by ${worst.by}` : undefined;
}

interface Decided {
  readonly subject: Subject;
  readonly verdict: Verdict;
  readonly by: string;
}

/** A part of an example is named with the whole. */
function nameOf({ text, access }: Subject, example: string): string {
  if (access) return `${access} of ${quoted(text)}`;
  return text === example ? quoted(text) : `${quoted(text)} of ${quoted(example)}`;
}

function decide({ rules, byDefault }: ExampleList, subject: Subject): { verdict: Verdict; by: string } {
  let found: { verdict: Verdict; by: string } | undefined;
  for (const rule of rules) {
    const verdict = rule.says(subject);
    if (!verdict || (found && !isStricter(verdict, found.verdict)) || !rule.matches(subject)) continue;
    found = { verdict, by: rule.path };
  }
  return found ?? { verdict: byDefault, by: 'the default' };
}
