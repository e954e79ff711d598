// Owns: that code below a folder can import this very Haft, however it is installed: as a dependency, globally, or a clone.
// Refuses: to stand in the way of one that is installed there, and to be kept: node_modules is each machine's own.
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { VERSION } from '../../contract/version.ts';

const MODULES = ['index', 'toolpack', 'testing'] as const;

/** Answers whether an import of `haft/testing` in the folder leads somewhere. */
export function linkOwnPackage(folder: string, script: string | undefined = process.argv[1]): boolean {
  if (isInstalled(folder)) return true;
  const home = homeOf(script);
  if (!home) return false;
  const at = join(folder, 'node_modules', 'haft');
  mkdirSync(at, { recursive: true });
  const exports = Object.fromEntries(
    MODULES.map((name) => [
      name === 'index' ? '.' : `./${name}`,
      { types: `./${name}.d.ts`, default: `./${name}.js` },
    ]),
  );
  const manifest = { name: 'haft', version: VERSION, type: 'module', exports };
  writeFileSync(join(at, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of MODULES) {
    const [code, types] = home.isBuilt ? ['.js', '.d.ts'] : ['.ts', '.ts'];
    const from = (file: string) => JSON.stringify(join(home.folder, file));
    writeFileSync(
      join(at, `${name}.js`),
      `export * from ${JSON.stringify(pathToFileURL(join(home.folder, `${name}${code}`)).href)};\n`,
    );
    writeFileSync(join(at, `${name}.d.ts`), `export * from ${from(`${name}${types}`)};\n`);
  }
  return true;
}

/** As Node.js looks: in the node_modules of every folder upwards. */
function isInstalled(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', 'haft', 'package.json'))) return true;
    if (dirname(at) === at) return false;
  }
}

/** Where the modules of the running command lie: beside its folder `bin`, built or as sources. */
function homeOf(
  script: string | undefined,
): { readonly folder: string; readonly isBuilt: boolean } | undefined {
  if (script === undefined) return undefined;
  let folder: string;
  try {
    folder = dirname(dirname(realpathSync.native(script)));
  } catch {
    return undefined;
  }
  const isBuilt = existsSync(join(folder, 'testing.js'));
  return isBuilt || existsSync(join(folder, 'testing.ts')) ? { folder, isBuilt } : undefined;
}
