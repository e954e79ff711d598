// Owns: the folder that a pack is said to lie in, with links followed, or what keeps it from being one; and whether `packs:` may name it.
// Refuses: to say where that is; whoever was told its name puts it before the diagnostic.
import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { Diagnostic } from '../contract/diagnostic.ts';
import { fail } from '../contract/errors.ts';
import { isWithin } from './is-within.ts';

export function findPackFolder(dir: string): string | Diagnostic {
  try {
    const folder = realpathSync.native(dir);
    return statSync(folder).isDirectory() ? folder : problem('pack.not_directory', 'It is not a folder');
  } catch (thrown) {
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return problem('pack.missing', 'There is no such folder; check the path');
    return problem('pack.unreadable', FACTS[code] ?? `It cannot be read (${code})`);
  }
}

/** Where an entry of `packs:` leads. What lies elsewhere cannot be kept from programs, nor shown to them: throws `pack.invalid`. */
export function packPlace(workspace: string, path: string): string {
  const place = resolve(workspace, path);
  const [root, real] = [workspace, place].map((one) => {
    const found = findPackFolder(one);
    return typeof found === 'string' ? found : one;
  }) as [string, string];
  const cannot = `Cannot load the pack "${path}"`;
  if (!isWithin(real, root))
    throw fail(
      'pack.invalid',
      `${cannot}: it lies outside of the workspace, and packs lie inside of it; move or copy the folder there`,
    );
  if (isAbsolute(path))
    throw fail(
      'pack.invalid',
      `${cannot}: the folder of a pack is named relative to haft.yaml; write "${relative(root, real) || '.'}"`,
    );
  return place;
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
