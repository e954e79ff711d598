// Owns: write locks that hold between workspaces of this user that share files: one in another, or an extra root in another.
// Refuses: a stranger's state, and workspaces that share nothing but an extra root: no folder of theirs says so.
import { dirname, relative, resolve } from 'node:path';
import { isUnder } from '../base/rel-path.ts';
import { fail, isFailure } from '../contract/errors.ts';
import type { LoadedPolicy } from '../contract/policy.ts';
import type { LockRequest, LockStore } from '../contract/store.ts';
import { workspacesAround } from '../loader/workspace.ts';
import type { SqliteStore, SqliteStoreOptions } from '../stores/sqlite/open-sqlite-store.ts';
import { openSqliteStore } from '../stores/sqlite/open-sqlite-store.ts';

interface Site extends Pick<SqliteStoreOptions, 'process' | 'clock'> {
  /** The workspace, absolute and resolved. */
  readonly root: string;
  readonly policy: () => LoadedPolicy;
}

/** The store, whose locks are taken in the state of the neighbours as well, under the names that places have there. */
export function withNeighbourLocks(store: SqliteStore, site: Site): SqliteStore {
  const { root } = site;
  const opened = new Map<string, Promise<SqliteStore | undefined>>();
  let known: { readonly of: LoadedPolicy; readonly folders: readonly string[] } | undefined;

  const neighbours = (): readonly string[] => {
    const policy = site.policy();
    if (known?.of !== policy) known = { of: policy, folders: neighboursOf(root, policy) };
    return known.folders;
  };

  const locksOf = async (folder: string): Promise<LockStore | undefined> => {
    if (folder === root) return store.locks;
    const open = opened.get(folder) ?? openNeighbour(folder, site);
    opened.set(folder, open);
    // One that failed may be mended by the next call.
    open.catch(() => opened.delete(folder));
    return (await open)?.locks;
  };

  /** In one order everywhere, so that no two wait for each other. */
  const acquireAll = async (
    folders: readonly string[],
    paths: readonly LockRequest[],
    signal: AbortSignal,
  ) => {
    const releases: (() => Promise<void>)[] = [];
    // The own one first: it is to be queued right behind the row of the call.
    const release = async () => void (await Promise.all(releases.map((one) => one())));
    try {
      for (const folder of folders) {
        const locks = await locksOf(folder);
        const given =
          folder === root ? paths : paths.map((one) => ({ ...one, path: nameIn(folder, root, one.path) }));
        const one = await locks?.acquire(given, signal);
        if (one && folder === root) releases.unshift(one);
        else if (one) releases.push(one);
      }
      return release;
    } catch (thrown) {
      await release();
      throw thrown;
    }
  };

  return {
    ...store,
    locks: {
      acquire(paths, signal) {
        const folders = neighbours();
        if (folders.length === 0) return store.locks.acquire(paths, signal);
        return acquireAll([...folders, root].sort(), paths, signal);
      },
    },
    async close() {
      const others = await Promise.allSettled(opened.values());
      for (const other of others) if (other.status === 'fulfilled') await other.value?.close();
      await store.close();
    },
  };
}

/** Whose workspaces hold this one or one of its extra roots: those whose policy holds here, and those that have state. */
function neighboursOf(root: string, { outer = [], resolved }: LoadedPolicy): readonly string[] {
  const found = new Set(outer.map(({ name }) => dirname(resolve(root, name))));
  for (const start of [dirname(root), ...(resolved?.extraRoots ?? [])])
    for (const folder of workspacesAround(start)) found.add(folder);
  found.delete(root);
  return [...found];
}

/** Undefined where it cannot be written: then nobody works there. */
async function openNeighbour(
  folder: string,
  { root, process, clock }: Site,
): Promise<SqliteStore | undefined> {
  try {
    return await openSqliteStore({ folder: `${folder}/.haft`, process, clock });
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    if (thrown.reason === 'store.unwritable') return undefined;
    const where = `the workspace "${relative(root, folder)}", which shares files with this one`;
    throw fail(thrown.reason, `Cannot lock the paths in ${where}: ${thrown.message}`, thrown.details);
  }
}

/** A path as the workspace in `folder` names it. */
function nameIn(folder: string, root: string, path: string): string {
  const absolute = path.startsWith('/') ? path : path === '.' ? root : `${root}/${path}`;
  if (absolute === folder) return '.';
  if (folder === '/') return absolute.slice(1);
  return isUnder(absolute, folder) ? absolute.slice(folder.length + 1) : absolute;
}
