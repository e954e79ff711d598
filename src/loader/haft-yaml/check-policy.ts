// Owns: the whole check of a policy's text or object against the sections, from located values to a PolicyFile with places; and of the examples that its rules carry.
// Refuses: the machine (check-environment.ts); the same text always gives the same answer here.
import { isRecord } from '../../base/is-record.ts';
import { type Diagnostic, quoted } from '../../contract/diagnostic.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { PolicyFile, Verdict } from '../../contract/policy.ts';
import { isStricter } from '../../contract/policy-match.ts';
import type { MapShape } from '../../contract/shape.ts';
import type {
  Draft,
  DraftSite,
  ExampleList,
  ExampleRule,
  Subject,
  TextChecks,
} from '../../policy/section.ts';
import { SECTIONS } from '../../policy/sections/index.ts';
import { TEXT_CHECKS } from '../../policy/shapes.ts';
import { checkShape } from '../yaml/check-shape.ts';
import { type Located, locateObject, type Place, placesOf, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { createTeller, reportProblem } from '../yaml/problem.ts';
import { createReport, type Report } from '../yaml/report.ts';
import type { ShapeSite } from '../yaml/shape-site.ts';
import { siteOf } from './check-environment.ts';

/** Diagnostics, the JSON Schema and the reference page are all made from this. */
export const HAFT_YAML: MapShape = {
  is: 'map',
  doc: 'What this workspace grants to tools.',
  required: ['version'],
  keys: Object.fromEntries(SECTIONS.map((section) => [section.key, section.written().shape])),
};

/** A policy whose text was checked. */
export interface CheckedPolicy {
  readonly file: PolicyFile;
  readonly lines: { readonly [path: string]: number };
  readonly columns: { readonly [path: string]: number };
  readonly warnings: readonly Diagnostic[];
}

export interface CheckedDraft {
  /** To be trusted only where the report has no errors. */
  readonly draft: Draft;
  readonly places: ReadonlyMap<string, Place>;
}

/** Undefined where the text is no YAML at all. */
export async function checkPolicyText(text: string, report: Report): Promise<CheckedDraft | undefined> {
  const located = await parseYaml(text, report);
  return located && checkPolicy(located, report);
}

async function checkPolicy(located: Located, report: Report): Promise<CheckedDraft> {
  const plain = toPlain(located);
  const texts = await textChecks(plain);
  const site: ShapeSite = {
    tell: createTeller((problem) => reportProblem(report, located, problem)),
    name: 'haft.yaml',
    root: HAFT_YAML,
    texts: (check, text) => texts[check]?.(text) ?? [],
  };
  const draft = (checkShape(HAFT_YAML, plain, undefined, site) ?? {}) as Draft;
  const places = placesOf(located);
  const draftSite = siteOf(report, (path) => places.get(path) ?? located.at);
  for (const section of SECTIONS) await section.written().check?.(draft, draftSite);
  await checkExamples(draft, draftSite);
  return { draft, places };
}

/** Those of sections only where the file has them: some load a library. */
async function textChecks(plain: unknown): Promise<TextChecks> {
  const written = SECTIONS.filter(({ key }) => isRecord(plain) && Object.hasOwn(plain, key));
  return Object.assign(
    {},
    TEXT_CHECKS,
    ...(await Promise.all(written.map((section) => section.written().texts?.()))),
  );
}

/** What is kept of a policy without errors. */
export function keepChecked({ draft, places }: CheckedDraft, report: Report): CheckedPolicy {
  const lines: { [path: string]: number } = {};
  const columns: { [path: string]: number } = {};
  for (const [path, { line, column }] of places) {
    lines[path] = line;
    columns[path] = column;
  }
  return { file: draft as PolicyFile, lines, columns, warnings: report.diagnostics() };
}

/** A policy that is given as an object, such as a session's registry, by the same table as haft.yaml. */
export async function checkPolicyObject(
  value: unknown,
  name = '(registry)',
): Promise<LoadResult<PolicyFile>> {
  const report = createReport(name);
  const located = locateObject(value);
  const { draft } = await checkPolicy(located, report);
  const site = siteOf(report, () => located.at);
  for (const section of SECTIONS) section.checkBuild?.(draft, undefined, site);
  const diagnostics = report.diagnostics();
  return { value: report.failed ? undefined : (draft as PolicyFile), diagnostics };
}

async function checkExamples(draft: Draft, site: DraftSite): Promise<void> {
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
