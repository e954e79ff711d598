// Owns: which ripgrep is used: the one that came with Haft, else the first on the PATH.
// Refuses: one that lies in the workspace, where an agent could have put it: it runs outside of any sandbox.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';

/** Its absolute path; undefined where there is none that can be used. */
export async function findRipgrep(roots: readonly string[]): Promise<string | undefined> {
  if (!isProgram('/bin/sh')) return undefined;
  return (await bundled()) ?? onPath(roots);
}

/** Held in a variable, so that bundlers leave it where it is: its path is what is asked for. */
const PACKAGE = '@vscode/ripgrep';

async function bundled(): Promise<string | undefined> {
  try {
    const { rgPath } = (await import(PACKAGE)) as { readonly rgPath: string };
    return isProgram(rgPath) ? rgPath : undefined;
  } catch {
    return undefined; // not installed, or not for this machine
  }
}

function onPath(roots: readonly string[]): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(':')) {
    if (!folder.startsWith('/')) continue;
    const path = `${folder}/rg`;
    if (!isProgram(path)) continue;
    const real = realpathSync.native(path);
    if (!roots.some((root) => real.startsWith(`${root}/`) || path.startsWith(`${root}/`))) return real;
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
