// Owns: what is known of the packs that haft.yaml names and nothing started: what a start would refuse, told with its place in the file, and which credentials they need.
// Refuses: to run anything to find out: servers are not asked, and code of toolpacks is left to `haft toolpack check`.
import { isAbsolute, join } from 'node:path';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { isFailure } from '../../contract/errors.ts';
import type { LoadedPolicy } from '../../contract/policy.ts';
import { readRegularText } from '../../loader/read-regular.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { type Place, placesOf, START } from '../../loader/yaml/located.ts';
import { parseYaml } from '../../loader/yaml/parse-yaml.ts';
import { createReport } from '../../loader/yaml/report.ts';
import { readEntries } from './pack-entries.ts';
import type { PackNeed } from './pack-source.ts';
import { sourceOf } from './sources/index.ts';
import { withWorkspacePacks } from './workspace-packs.ts';

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
    const tell = (below: string, code: string, message: string) =>
      report.error(code, place(`packs[${at}]${below}`), message);
    inFolders.push(
      ...((await sourceOf(entry, workspace).check?.(entry, { root: workspace, schemas, tell })) ?? []),
    );
  }
  return [...report.diagnostics(), ...inFolders];
}

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

/** Packs that are disabled need nothing. Where haft.yaml cannot be read nothing is known, and nothing is needed. */
export async function credentialNeeds(workspace: string): Promise<readonly PackNeed[]> {
  try {
    const entries = await withWorkspacePacks(workspace, (packs) => packs.entries(), { looks: true });
    const needs = entries.map((entry) => sourceOf(entry, workspace).needs?.(entry, workspace) ?? []);
    return (await Promise.all(needs)).flat();
  } catch (thrown) {
    if (isFailure(thrown)) return [];
    throw thrown;
  }
}
