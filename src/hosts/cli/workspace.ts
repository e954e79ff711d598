// Owns: which folder a command works on.
// Refuses: to guess beyond the nearest folder upwards that has haft.yaml or .haft.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fail } from '../../contract/errors.ts';

export function findWorkspace(given: string | undefined): string {
  if (given !== undefined) return realFolder(given);
  const start = realpathSync(process.cwd());
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'haft.yaml')) || existsSync(join(folder, '.haft'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

function realFolder(given: string): string {
  try {
    const real = realpathSync(given);
    if (statSync(real).isDirectory()) return real;
  } catch {
    throw fail('usage', `Cannot use workspace ${given}: there is no such folder`);
  }
  throw fail('usage', `Cannot use workspace ${given}: it is not a folder`);
}
