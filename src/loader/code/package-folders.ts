// Owns: which packages of a `node_modules` a script of one of them can load: its own, and those that they depend on.
// Refuses: to look above that folder.
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../read-regular.ts';

/** Folders below `modules`, sorted; `path` is the script's, below it. Packages that are not installed are left out. */
export function packageFolders(modules: string, path: string): readonly string[] {
  const found = new Set<string>(['.bin', '.package-lock.json']);
  const visit = (folder: string): void => {
    if (found.has(folder)) return;
    found.add(folder);
    for (const name of dependenciesOf(join(modules, folder))) {
      const at = lookUp(modules, folder, name);
      if (at !== undefined) visit(at);
    }
  };
  visit(/^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
  // What lies within another one is there with it.
  const all = [...found].sort();
  return all.filter((one) => !all.some((other) => one !== other && one.startsWith(`${other}/`)));
}

function dependenciesOf(folder: string): readonly string[] {
  try {
    const json = JSON.parse(readRegularText(join(folder, 'package.json'))) as Record<string, object>;
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = json;
    return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  } catch {
    return [];
  }
}

/** As Node.js looks: in the `node_modules` of every folder upwards. */
function lookUp(modules: string, from: string, name: string): string | undefined {
  for (let at = from; ; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
    const candidate = at === '' ? name : `${at}/node_modules/${name}`;
    if (lstatSync(join(modules, candidate), { throwIfNoEntry: false })) return candidate;
    if (at === '') return undefined;
  }
}
