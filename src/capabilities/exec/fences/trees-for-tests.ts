// Owns: for tests, a folder with files that is gone afterwards, and what a finder of fences says of it.
// Refuses: rules of its own; each test brings those that it is about.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { NO_FENCES } from '../../../contract/capability.ts';
import type { Fence } from '../../../contract/policy.ts';
import { createFenceFinder } from './find-fences.ts';

export function withTree<T>(files: Readonly<Record<string, string>>, use: (root: string) => T): T {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-fences-')));
  put(root, files);
  try {
    return use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export function put(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(join(root, name), content);
  }
}

/** What is hidden and what is read-only in the folder, which is all that a program is shown. */
export const findIn = (root: string, fences: readonly Fence[], finder = createFenceFinder()) => {
  const { hidden, readOnly } = finder.find({ root, policy: { ...NO_FENCES, fences } }, [
    { path: root, writable: [] },
  ]);
  return { hidden, readOnly };
};
