// Owns: where something is written in a manifest that was found to be fine on its own.
// Refuses: checking it again.
import { type Place, placeOf, START } from '../yaml/located.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { createReport } from '../yaml/report.ts';
import { wayOf } from '../yaml/way.ts';
import { createPackReader } from './pack-files.ts';

export async function locateKey(folder: string, path: string, steps: readonly string[]): Promise<Place> {
  const found = createPackReader(folder).readListed(path);
  if (!found || 'code' in found) return START;
  const located = await parseYaml(found.bytes.toString('utf8'), createReport(path));
  return located ? placeOf(located, wayOf(steps), steps.length > 1 ? 'key' : 'value') : START;
}
