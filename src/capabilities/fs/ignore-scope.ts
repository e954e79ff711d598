// Owns: which ignore files hold in a folder, and reading them through pinned folders.
// Refuses: links in place of ignore files (as git does), files outside of the root, the user's global excludes.
import { closeSync, constants, type Dirent, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { joinRel } from '../../base/rel-path.ts';
import { locate } from './beneath.ts';
import type { PinnedFolder } from './child-folder.ts';
import { compileIgnoreRules, type IgnoreRules, type IgnoreScope } from './ignore-rules.ts';
import { type Located, release } from './located.ts';
import { O_NOFOLLOW, O_NONBLOCK } from './open-flags.ts';
import { absolute, type Root } from './root.ts';

/** An ignore file of this size is a mistake, and its rest is not read. */
const MAX_BYTES = 1024 * 1024;

/** What the parents of `start` say, from the root down, without its own file. */
export function ignoreScopeOf(start: Located): IgnoreScope | undefined {
  let scope = extend(undefined, readRules(start.root, '.', '.git/info/exclude'), 0);
  if (start.rel === '.') return scope;
  const parts = start.rel.split('/');
  for (let depth = 0; depth < parts.length; depth++) {
    const folder = depth === 0 ? '.' : parts.slice(0, depth).join('/');
    scope = extend(scope, readRules(start.root, folder, '.gitignore'), depth === 0 ? 0 : folder.length + 1);
  }
  return scope;
}

/** Adds the file of `folder`, if `entries` say that it has one. `depth` is the length of the folder's path. */
export function withIgnoreFileOf(
  folder: PinnedFolder,
  entries: readonly Dirent[],
  depth: number,
  parent: IgnoreScope | undefined,
): IgnoreScope | undefined {
  for (const entry of entries) {
    if (entry.name === '.gitignore' && entry.isFile()) {
      return extend(parent, readRulesAt(`${folder.path}/.gitignore`), depth);
    }
  }
  return parent;
}

function extend(parent: IgnoreScope | undefined, rules: IgnoreRules | undefined, depth: number) {
  return rules ? { rules, depth, parent } : parent;
}

function readRules(root: Root, folder: string, name: string): IgnoreRules | undefined {
  const slash = name.lastIndexOf('/');
  const inner = slash < 0 ? folder : `${folder === '.' ? '' : `${folder}/`}${name.slice(0, slash)}`;
  // Mostly there is none, and a look by name is enough to know: what is there is opened with all care.
  if (!lstatSync(absolute(root, joinRel(folder, name)), { throwIfNoEntry: false })?.isFile())
    return undefined;
  let found: Located;
  try {
    found = locate(root, inner, 'read');
  } catch {
    return undefined;
  }
  try {
    return found.rel === inner ? readRulesAt(`${found.path}/${name.slice(slash + 1)}`) : undefined;
  } finally {
    release(found);
  }
}

function readRulesAt(path: string): IgnoreRules | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > MAX_BYTES) return undefined;
    return compileIgnoreRules(readFileSync(fd, 'utf8'));
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
