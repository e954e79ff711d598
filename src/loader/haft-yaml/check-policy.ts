// Owns: the whole check of a policy's text or object, from located values to a PolicyFile with places.
// Refuses: the machine (check-environment); the same text always gives the same answer here.
import type { PolicyFile } from '../../contract/policy.ts';
import { loadPatternCompiler } from '../../contract/policy-match.ts';
import { checkShape } from '../yaml/check-shape.ts';
import { type Located, type Place, placesOf, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { createTeller, reportProblem } from '../yaml/problem.ts';
import type { Report } from '../yaml/report.ts';
import type { ShapeSite } from '../yaml/shape-site.ts';
import { checkAnchors } from './check-anchors.ts';
import { checkExamples } from './check-examples.ts';
import { checkRuns } from './check-runs.ts';
import { checkShadowed } from './check-shadowed.ts';
import type { Draft } from './draft.ts';
import { HAFT_YAML } from './haft-yaml-shape.ts';
import type { CheckedPolicy } from './policy-cache.ts';
import { TEXT_CHECKS, type TextCheck } from './text-checks.ts';

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

export async function checkPolicy(located: Located, report: Report): Promise<CheckedDraft> {
  const hasPatterns = located.is === 'map' && located.entries.some(({ key }) => key === 'shell_allow');
  const compilePattern = hasPatterns ? await loadPatternCompiler() : undefined;
  const site: ShapeSite = {
    tell: createTeller((problem) => reportProblem(report, located, problem)),
    name: 'haft.yaml',
    root: HAFT_YAML,
    texts: (check, text) => TEXT_CHECKS[check as TextCheck](text, { compilePattern }),
  };
  const draft = (checkShape(HAFT_YAML, toPlain(located), undefined, site) ?? {}) as Draft;
  const places = placesOf(located);
  const place = (path: string) => places.get(path) ?? located.at;
  checkAnchors(draft, { report, compilePattern, place });
  await checkExamples(draft, { report, compilePattern, place });
  checkShadowed(draft, { report, compilePattern, place });
  checkRuns(draft, { report, compilePattern, place });
  return { draft, places };
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
