// Owns: `ctx.words`: which files of the workspace hold a word, from an index that follows every change.
// Refuses: files over 1 MiB, links, and to name a file that the call may not see.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Capability, PathChange } from '../../src/contract/capability.ts';

declare module '../../src/contract/capability.ts' {
  interface Capabilities {
    readonly words: { find(word: string): Promise<readonly string[]> };
  }
}

interface Index {
  readonly root: string;
  /** By path: the words in it. */
  readonly files: Map<string, ReadonlySet<string>>;
}

const LARGEST = 1024 * 1024;

export const words: Capability<'words', Index> = {
  name: 'words',
  open({ root }) {
    const index = { root, files: new Map() };
    look(index, { path: '.', tree: true });
    return index;
  },
  changed(changes, index) {
    for (const change of changes) look(index, change);
  },
  handle: (scope, state) => ({
    async find(word) {
      scope.admit({ kind: 'fs.read', path: '.', tree: true });
      const { files } = await state();
      return [...files.keys()].filter((path) => files.get(path)?.has(word) && scope.visible(path)).sort();
    },
  }),
};

function look(index: Index, { path, tree }: PathChange): void {
  const { root, files } = index;
  const isThere = (one: string) => one === path || (tree && (path === '.' || one.startsWith(`${path}/`)));
  for (const one of files.keys()) if (isThere(one)) files.delete(one);
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false });
  if (stat?.isFile() && stat.size <= LARGEST)
    files.set(path, new Set(readFileSync(join(root, path), 'utf8').split(/\W+/)));
  if (!tree || !stat?.isDirectory()) return;
  for (const name of readdirSync(join(root, path)))
    if (name !== '.haft' && name !== '.git')
      look(index, { path: path === '.' ? name : `${path}/${name}`, tree });
}
