// Owns: which ignore files hold in a folder, and reading them through pinned folders.
// Refuses: links in place of ignore files (as git does), files outside of the root, the user's global excludes.
import type { Dirent, Stats } from 'node:fs';
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { joinRel } from '../../base/rel-path.ts';
import { locate } from './beneath.ts';
import type { PinnedFolder } from './folder-reader.ts';
import { compileIgnoreRules, type IgnoreRules, type IgnoreScope } from './ignore-rules.ts';
import { absolute, type Located, O_NOFOLLOW, O_NONBLOCK, type Root, release } from './root.ts';

/** Reads ignore files, and remembers what the last ones said until they change. */
export interface IgnoreFiles {
  /** What the parents of `start` say, from the root down, without its own file. */
  above(start: Located): IgnoreScope | undefined;
  /** Adds the file of `folder`, if `entries` say that it has one. `depth` is the length of the folder's path. */
  within(
    folder: PinnedFolder,
    entries: readonly Dirent[],
    depth: number,
    parent: IgnoreScope | undefined,
  ): IgnoreScope | undefined;
}

interface Remembered {
  readonly size: number;
  readonly ctimeMs: number;
  readonly rules: IgnoreRules | undefined;
}

/** An ignore file of this size is a mistake, and its rest is not read. */
const MAX_BYTES = 1024 * 1024;
const REMEMBERED = 1024;
/** A file may change twice within a tick of the file system's clock: what is younger than this is read again. */
const SETTLED_MS = 100;

export function createIgnoreFiles(): IgnoreFiles {
  const known = new Map<string, Remembered>();

  const readAt = (path: string): IgnoreRules | undefined => {
    let fd: number;
    try {
      fd = openSync(path, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > MAX_BYTES) return undefined;
      const rules = compileIgnoreRules(readFileSync(fd, 'utf8'));
      if (Date.now() - stat.ctimeMs > SETTLED_MS) remember(stat, rules);
      return rules;
    } catch {
      return undefined;
    } finally {
      closeSync(fd);
    }
  };

  const remember = (stat: Stats, rules: IgnoreRules | undefined) => {
    if (known.size >= REMEMBERED) known.clear();
    known.set(identity(stat), { size: stat.size, ctimeMs: stat.ctimeMs, rules });
  };

  const recall = (stat: Stats): Remembered | undefined => {
    const seen = known.get(identity(stat));
    return seen && seen.size === stat.size && seen.ctimeMs === stat.ctimeMs ? seen : undefined;
  };

  /** Mostly there is none, and a look by name is enough to know: what is new is opened with all care. */
  const readBeneath = (root: Root, folder: string, name: string): IgnoreRules | undefined => {
    const stat = lstatSync(absolute(root, joinRel(folder, name)), { throwIfNoEntry: false });
    if (!stat?.isFile()) return undefined;
    const seen = recall(stat);
    if (seen) return seen.rules;
    const slash = name.lastIndexOf('/');
    const inner = slash < 0 ? folder : joinRel(folder, name.slice(0, slash));
    let found: Located;
    try {
      found = locate(root, inner, 'read');
    } catch {
      return undefined;
    }
    try {
      return found.rel === inner ? readAt(`${found.path}/${name.slice(slash + 1)}`) : undefined;
    } finally {
      release(found);
    }
  };

  return {
    above(start) {
      let scope = extend(undefined, readBeneath(start.root, '.', '.git/info/exclude'), 0);
      if (start.rel === '.') return scope;
      const parts = start.rel.split('/');
      for (let depth = 0; depth < parts.length; depth++) {
        const folder = depth === 0 ? '.' : parts.slice(0, depth).join('/');
        const rules = readBeneath(start.root, folder, '.gitignore');
        scope = extend(scope, rules, depth === 0 ? 0 : folder.length + 1);
      }
      return scope;
    },
    within(folder, entries, depth, parent) {
      for (const entry of entries) {
        if (entry.name !== '.gitignore' || !entry.isFile()) continue;
        const path = `${folder.path}/.gitignore`;
        const stat = lstatSync(path, { throwIfNoEntry: false });
        const seen = stat && recall(stat);
        return extend(parent, seen ? seen.rules : readAt(path), depth);
      }
      return parent;
    },
  };
}

const identity = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

function extend(parent: IgnoreScope | undefined, rules: IgnoreRules | undefined, depth: number) {
  return rules ? { rules, depth, parent } : parent;
}
