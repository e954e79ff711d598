// Owns: which folder a command works on.
// Refuses: to guess beyond the nearest folder upwards that has haft.yaml or .haft.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findFolder, realFolder } from '../../loader/workspace.ts';

export function findWorkspace(given: string | undefined): string {
  if (given !== undefined) return findFolder(given);
  const start = realFolder('.');
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'haft.yaml')) || existsSync(join(folder, '.haft')))
      return folder === start ? start : findFolder(folder);
    if (dirname(folder) === folder) return start;
  }
}
