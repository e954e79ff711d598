// Owns: what a start would refuse of the packs that haft.yaml names, told with its place in the file, and nothing started.
// Refuses: to run anything to find out: servers are not asked, and code of toolpacks is left to `haft toolpack check`.
import { isAbsolute, join } from 'node:path';
import { MCP_CONFIG, mcpProblem } from '../../adapters/mcp/overlay.ts';
import { STDIO_CONFIG } from '../../adapters/stdio/stdio.ts';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject, JsonSchema, SchemaCompiler } from '../../contract/json.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import { readRegularText } from '../../loader/read-regular.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { ToolpackLoader } from '../../loader/tool-yaml/toolpack-loader.ts';
import { isToolpackFolder } from '../../loader/toolpack/pack-files.ts';
import { type Place, placesOf, START } from '../../loader/yaml/located.ts';
import { parseYaml } from '../../loader/yaml/parse-yaml.ts';
import { createReport } from '../../loader/yaml/report.ts';
import { type PackEntry, type PackKind, readEntries } from './pack-entries.ts';
import { configProblems, refuseOwnVariables } from './server-needs.ts';

/** `file` is where the policy was read from, relative to the workspace or absolute. */
export async function checkPacks(
  workspace: string,
  { file: { packs = [] }, name }: LoadedPolicy,
  file = 'haft.yaml',
): Promise<readonly Diagnostic[]> {
  if (packs.length === 0) return [];
  const report = createReport(name);
  const place = await placesIn(isAbsolute(file) ? file : join(workspace, file));
  const { entries, problems } = readEntries(packs);
  for (const { at, message } of problems) report.error('pack.invalid', place(`packs[${at}]`), message);
  const inFolders: Diagnostic[] = [];
  const schemas = createSchemaCompiler();
  for (const [at, entry] of entries.entries()) {
    if (!entry?.enabled) continue;
    const where = `packs[${at}]`;
    if (entry.kind !== 'path') {
      for (const { path, message } of await serverProblems(entry, schemas))
        report.error('pack.invalid', place(`${where}.${entry.kind}${path}`), message);
      continue;
    }
    for (const one of await folderProblems(workspace, entry)) {
      if (one.file !== '') inFolders.push({ ...one, file: join(entry.path ?? '.', one.file) });
      else
        report.error(one.code, place(where), `Cannot take the pack "${entry.path}": ${lower(one.message)}`);
    }
  }
  return [...report.diagnostics(), ...inFolders];
}

const CONFIGS: {
  readonly [kind in Exclude<PackKind, 'path'>]: {
    readonly config: JsonSchema;
    problemOf?(config: JsonObject): string | undefined;
  };
} = {
  mcp: { config: MCP_CONFIG, problemOf: mcpProblem },
  stdio: { config: STDIO_CONFIG },
};

interface ServerProblem {
  /** Below the key of its kind, as places are named: `.env.set`. */
  readonly path: string;
  readonly message: string;
}

async function serverProblems(
  { kind, name, config }: PackEntry,
  schemas: SchemaCompiler,
): Promise<readonly ServerProblem[]> {
  const found = await configProblems(config, CONFIGS[kind as keyof typeof CONFIGS], schemas);
  if (found.length > 0)
    return found.map((problem) => ({
      path: placeName(problem.slice(0, problem.indexOf(' '))),
      message: `Cannot take the pack "${name}": ${kind}${problem}`,
    }));
  try {
    refuseOwnVariables(name, config);
    return [];
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    return [{ path: '.env.passthrough', message: thrown.message }];
  }
}

/** Errors alone: the rest keeps nothing from starting. */
async function folderProblems(root: string, { path = '.' }: PackEntry): Promise<readonly Diagnostic[]> {
  const folder = join(root, path);
  if (isToolpackFolder(folder)) return [];
  const { diagnostics } = await new ToolpackLoader({ quarantine: true }).loadDir(folder, { root });
  return diagnostics.filter(({ severity }) => severity === 'error');
}

/** Of a JSON pointer: `/env/set` is `.env.set`, `/command/0` is `.command[0]`. */
const placeName = (pointer: string): string =>
  pointer.replaceAll(/\/([^/]*)/g, (_, key: string) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`));

/** Of a value, or of the nearest around it that is there. */
async function placesIn(file: string): Promise<(path: string) => Place> {
  const located = await parseYaml(readRegularText(file), createReport(''));
  const places = located ? placesOf(located) : new Map<string, Place>();
  const place = (path: string): Place => {
    const found = places.get(path);
    if (found) return found;
    const around = path.replace(/(?:\.[^.[\]]*|\[\d+\])$/, '');
    return around === path || around === '' ? START : place(around);
  };
  return place;
}

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
