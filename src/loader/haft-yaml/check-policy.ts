// Owns: the whole check of a policy's text or object against the sections, from located values to a PolicyFile with places.
// Refuses: the machine (check-environment.ts); the same text always gives the same answer here.
import { isRecord } from '../../base/is-record.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { PolicyFile } from '../../contract/policy.ts';
import type { MapShape } from '../../contract/shape.ts';
import type { Draft, TextChecks } from '../../policy/section.ts';
import { SECTIONS } from '../../policy/sections/index.ts';
import { TEXT_CHECKS } from '../../policy/shapes.ts';
import { checkShape } from '../yaml/check-shape.ts';
import { type Located, locateObject, type Place, placesOf, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { createTeller, reportProblem } from '../yaml/problem.ts';
import { createReport, type Report } from '../yaml/report.ts';
import type { ShapeSite } from '../yaml/shape-site.ts';
import { siteOf } from './check-environment.ts';
import { checkExamples } from './check-examples.ts';

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
