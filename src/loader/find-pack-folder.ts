// Owns: the folder that a pack is said to lie in, with links followed, or what keeps it from being one.
// Refuses: to say where that is; whoever was told its name puts it before the diagnostic.
import { realpathSync, statSync } from 'node:fs';
import type { Diagnostic } from '../contract/diagnostic.ts';

export function findPackFolder(dir: string): string | Diagnostic {
  try {
    const folder = realpathSync.native(dir);
    return statSync(folder).isDirectory() ? folder : problem('pack.not_directory', 'It is not a folder');
  } catch (thrown) {
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return problem('pack.missing', 'There is no such folder');
    return problem('pack.unreadable', FACTS[code] ?? `It cannot be read (${code})`);
  }
}

const FACTS: Readonly<Record<string, string>> = {
  ENOTDIR: 'There can be no such folder: a part of its path is a file',
  ENAMETOOLONG: 'There can be no such folder: its name is too long',
  ELOOP: 'There can be no such folder: its links lead in a circle',
  EACCES: 'It cannot be read: permission denied',
};

const problem = (code: string, message: string): Diagnostic => ({
  file: '',
  line: 1,
  column: 1,
  severity: 'error',
  code,
  message,
});
