// Owns: checking manifests from the disk: the fast way as long as all is well, the one with places where it is not.
// Refuses: to be loaded for a pack that did not change: this file brings the YAML reader and the patterns' engine in.
import { isUtf8 } from 'node:buffer';
import { relative } from 'node:path';
import { digest } from '../../base/digest.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { whyNotLinear } from '../schema/linear-reg-exp.ts';
import { decodeText } from '../yaml/decode-text.ts';
import { type Located, START, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { type Problem, reportProblem } from '../yaml/problem.ts';
import { readPlainYaml } from '../yaml/read-plain-yaml.ts';
import { createReport, type Report } from '../yaml/report.ts';
import { createSlabs } from './body-slabs.ts';
import { canonicalBody } from './canonical-body.ts';
import { checkManifest, type ManifestSite } from './check-manifest.ts';
import type { CheckedFile, CheckedTool } from './checked-file.ts';
import { createPackReader, type FileStamp } from './pack-files.ts';
import { createPackNames } from './pack-uri.ts';
import { createSchemaFiles, type SchemaFile } from './schema-files.ts';
import { createScriptFiles } from './script-files.ts';

/** Diagnostics name files by their paths below the pack's folder. */
export interface PackCheck {
  readonly files: readonly CheckedFile[];
  /** Of the schema files that manifests refer to. */
  readonly diagnostics: readonly Diagnostic[];
}

/** `root` is what schemas may refer to: the pack's folder, or one above it. */
export async function checkPack(
  folder: string,
  manifests: readonly string[],
  root = folder,
): Promise<PackCheck> {
  const reader = createPackReader(folder, root);
  const names = createPackNames(relative(root, folder));
  let dependencies: Map<string, FileStamp | null> | undefined;
  const depend = (path: string, stamp: FileStamp | null): void => {
    dependencies ??= new Map();
    dependencies.set(path, stamp);
  };
  const patterns = new Map<string, string | undefined>();
  const whyNotPattern = (pattern: string): string | undefined => {
    if (!patterns.has(pattern)) patterns.set(pattern, whyNotLinear(pattern));
    return patterns.get(pattern);
  };
  const schemas = createSchemaFiles({ reader, names, whyNotPattern, depend });
  const scripts = createScriptFiles({ reader, depend });
  const site: PackSite = { schemas, scripts, names, slabs: createSlabs() };
  const files: CheckedFile[] = [];
  for (const path of manifests) {
    dependencies = undefined;
    const found = reader.readListed(path) ?? { code: 'file.missing', fact: 'is gone' };
    const report = createReport(path);
    if ('code' in found) {
      report.error(found.code, START, `It ${found.fact}`);
      files.push({ path, diagnostics: report.diagnostics() });
      continue;
    }
    const { stamp, bytes } = found;
    const text = isUtf8(bytes) ? bytes.toString('utf8').replace(/^\ufeff/, '') : decodeText(bytes, report);
    const tool = text === undefined ? undefined : await checkText(text, path, report, site);
    const depends = dependencies as Map<string, FileStamp | null> | undefined;
    const made = () => ({
      stamp,
      depends: Array.from(depends ?? [], ([one, state]) => ({ path: one, stamp: state })),
    });
    files.push({ path, made, diagnostics: report.diagnostics(), ...(tool ? { tool } : {}) });
  }
  return { files, diagnostics: await schemaDiagnostics(schemas.files()) };
}

interface PackSite extends ManifestSite {
  readonly slabs: ReturnType<typeof createSlabs>;
}

async function checkText(
  text: string,
  path: string,
  report: Report,
  site: PackSite,
): Promise<CheckedTool | undefined> {
  let value = readPlainYaml(text);
  let located: Located | undefined;
  if (value === undefined) {
    located = await parseYaml(text, report);
    if (!located) return undefined;
    value = toPlain(located);
  }
  let { problems, tool } = checkManifest(value, path, site);
  while (site.schemas.waiting) {
    await site.schemas.readWaiting();
    ({ problems, tool } = checkManifest(value, path, site));
  }
  await reportAll(problems, text, located, report);
  if (!tool || report.failed) return undefined;
  try {
    // What is kept of thousands of tools is one run of bytes each; values are made of them when they are asked for.
    const body = canonicalBody(tool);
    const ids: CheckedTool['ids'] = [tool.id, ...tool.actions.map(({ id }) => id)];
    return { ids, digest: digest('toolpack/v1', body), ...site.slabs.put(body) };
  } catch (error) {
    const message = 'Together with what it refers to it has no canonical form';
    report.error('value.json', START, `${message}: ${(error as Error).message}`);
    return undefined;
  }
}

async function reportAll(
  problems: readonly Problem[],
  text: string,
  known: Located | undefined,
  report: Report,
): Promise<void> {
  if (problems.length === 0) return;
  // Where only places are missing, the text was found to be fine.
  const located = known ?? (await parseYaml(text, createReport('')));
  for (const problem of problems) {
    reportProblem(report, located ?? { is: 'map', at: START, entries: [] }, problem);
  }
}

async function schemaDiagnostics(files: Iterable<SchemaFile>): Promise<Diagnostic[]> {
  const all: Diagnostic[] = [];
  for (const { text, problems, located, report } of files) {
    await reportAll(problems, text, located, report);
    all.push(...report.diagnostics());
  }
  return all;
}
