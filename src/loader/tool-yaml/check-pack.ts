// Owns: checking manifests from the disk: the fast way as long as all is well, the one with places where it is not.
// Refuses: to be loaded for a pack that did not change: this file brings the YAML reader and the patterns' engine in.
import { isUtf8 } from 'node:buffer';
import { relative } from 'node:path';
import { canonicalText } from '../../base/canonical-json.ts';
import { digest } from '../../base/digest.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { whyNotLinear } from '../schema/linear-reg-exp.ts';
import { decodeText } from '../yaml/decode-text.ts';
import { type Located, START, toPlain } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { type Problem, reportProblem } from '../yaml/problem.ts';
import { readPlainYaml } from '../yaml/read-plain-yaml.ts';
import { createReport, type Report } from '../yaml/report.ts';
import { checkManifest, createScriptFiles, type ManifestSite } from './check-manifest.ts';
import type { CheckedFile, CheckedTool } from './checked-file.ts';
import { createPackReader, type FileStamp } from './pack-files.ts';
import { createPackNames, createSchemaFiles, type SchemaFile } from './schema-files.ts';

/** Diagnostics name files by their paths below the pack's folder. */
interface PackCheck {
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
  for (const problem of problems)
    reportProblem(report, located ?? { is: 'map', at: START, entries: [] }, problem);
}

async function schemaDiagnostics(files: Iterable<SchemaFile>): Promise<Diagnostic[]> {
  const all: Diagnostic[] = [];
  for (const { text, problems, located, report } of files) {
    await reportAll(problems, text, located, report);
    all.push(...report.diagnostics());
  }
  return all;
}

interface Slice {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const SLAB = 1024 * 1024;

function createSlabs(): { put(text: string): Slice } {
  let bytes = Buffer.alloc(0);
  let used = 0;
  return {
    put(text) {
      // Three bytes are the most that a unit of UTF-16 becomes.
      const most = text.length * 3;
      if (bytes.length - used < most) {
        bytes = Buffer.allocUnsafeSlow(Math.max(SLAB, most));
        used = 0;
      }
      const start = used;
      used += bytes.write(text, start);
      return { bytes, start, end: used };
    },
  };
}

/** RFC 8785, as `canonicalText` writes it. Throws as that does where a value nests too deeply. */
export function canonicalBody(definition: unknown): string {
  const sorted = sortKeys(definition, 0);
  return sorted === undefined ? canonicalText(definition) : JSON.stringify(sorted);
}

const MAX_DEPTH = 64;

/**
 * The value with the keys of every object in order. Undefined where an object could not hold them so: keys that look
 * like an index come first, whatever is done, and `__proto__` is no ordinary key.
 */
function sortKeys(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return undefined;
  if (Array.isArray(value)) {
    const list = new Array(value.length);
    for (let at = 0; at < value.length; at++) {
      list[at] = sortKeys(value[at], depth + 1);
      if (list[at] === undefined) return undefined;
    }
    return list;
  }
  const keys = inOrder(Object.keys(value));
  const sorted: { [key: string]: unknown } = {};
  for (const key of keys) {
    const first = key.charCodeAt(0);
    if ((first >= 48 && first <= 57) || key === '__proto__') return undefined;
    const inner = sortKeys((value as { [key: string]: unknown })[key], depth + 1);
    if (inner === undefined) return undefined;
    sorted[key] = inner;
  }
  return sorted;
}

/** By UTF-16 code units. Of a few keys, most of them in order, by inserting. */
function inOrder(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}
