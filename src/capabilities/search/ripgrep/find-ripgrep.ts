// Owns: which ripgrep is used: the one that came with Haft, else the first on the PATH.
// Refuses: one that lies in the workspace, where an agent could have put it: it runs outside of any sandbox.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';

/** Its absolute path; undefined where there is none that can be used. `bundled: false`: only those of the PATH. */
export async function findRipgrep(
  roots: readonly string[],
  from: { readonly bundled?: boolean; readonly path?: string } = {},
): Promise<string | undefined> {
  const { bundled = true, path = process.env.PATH ?? '' } = from;
  if (!isProgram('/bin/sh')) return undefined;
  return (bundled ? await inPackage() : undefined) ?? onPath(path, roots);
}

/** Held in a variable, so that bundlers leave it where it is: its path is what is asked for. */
const PACKAGE = '@vscode/ripgrep';

async function inPackage(): Promise<string | undefined> {
  try {
    const { rgPath } = (await import(PACKAGE)) as { readonly rgPath: string };
    return isProgram(rgPath) ? rgPath : undefined;
  } catch {
    return undefined; // not installed, or not for this machine
  }
}

function onPath(folders: string, roots: readonly string[]): string | undefined {
  for (const folder of folders.split(':')) {
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
