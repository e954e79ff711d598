// Owns: the whole check of a policy's text or object, from located values to a PolicyFile with places.
// Refuses: the machine (check-environment); the same text always gives the same answer here.
import type { PolicyFile } from '../../contract/policy.ts';
import { loadPatternCompiler } from '../../contract/policy-match.ts';
import { checkExamples } from './check-examples.ts';
import { checkShadowed } from './check-shadowed.ts';
import { checkShape } from './check-shape.ts';
import type { Draft } from './draft.ts';
import { HAFT_YAML } from './haft-yaml-shape.ts';
import type { Located, Place } from './located.ts';
import { parseYaml } from './parse-yaml.ts';
import type { CheckedPolicy } from './policy-cache.ts';
import type { Report } from './report.ts';

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
  const places = new Map<string, Place>();
  const draft = (checkShape(HAFT_YAML, located, '', { report, root: HAFT_YAML, places, compilePattern }) ??
    {}) as Draft;
  const place = (path: string) => places.get(path) ?? located.at;
  checkExamples(draft, { report, compilePattern, place });
  checkShadowed(draft, { report, compilePattern, place });
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
