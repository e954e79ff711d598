// Owns: one folder of manifests from the disk to tools: from the cache what did not change, checked what did.
// Refuses: deciding what to do about problems; it tells them all.
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { findPackFolder } from '../find-pack-folder.ts';
import { isWithin } from '../is-within.ts';
import type { CheckedFile } from './checked-file.ts';
import { readPackCache, writePackCache } from './pack-cache.ts';
import { listPack } from './pack-files.ts';

export interface LoadPackOptions {
  readonly cacheFolder: string | undefined;
  /** What schemas may refer to, where that is more than the folder itself. */
  readonly root?: string | undefined;
  now(): number;
}

export interface LoadedPack {
  /** Absolute, links followed; as it was given where there is no such folder. */
  readonly folder: string;
  readonly files: readonly CheckedFile[];
  /** Of files that are no manifests. */
  readonly diagnostics: readonly Diagnostic[];
  /** How many manifests were as the cache knew them. */
  readonly reused: number;
  /** Files outside of the folder that were read for it: absolute, links followed. */
  readonly beside: readonly string[];
}

export async function loadPack(
  dir: string,
  { cacheFolder, now, root: given }: LoadPackOptions,
): Promise<LoadedPack> {
  const readAt = now();
  const folder = findPackFolder(dir);
  if (typeof folder !== 'string')
    return { folder: dir, files: [], diagnostics: [folder], reused: 0, beside: [] };
  const root = rootOf(folder, given);
  const { manifests, oddities } = listPack(folder);
  const known = cacheFolder
    ? readPackCache(cacheFolder, { folder, root }, new Set(manifests))
    : new Map<string, CheckedFile>();
  const stale = known.size === manifests.length ? [] : manifests.filter((path) => !known.has(path));
  const diagnostics: Diagnostic[] = oddities.map(({ path, code, message }) => ({
    ...START,
    file: path,
    severity: 'warning',
    code,
    message,
  }));
  const reused = known.size;
  if (stale.length > 0) {
    const { checkPack } = await import('./check-pack.ts');
    const checked = await checkPack(folder, stale, root);
    for (const file of checked.files) known.set(file.path, file);
    diagnostics.push(...checked.diagnostics);
  }
  const files = [...known.values()];
  if (cacheFolder && stale.length > 0) writePackCache(cacheFolder, { folder, root }, files, readAt);
  const beside = root === folder ? [] : besideOf(folder, files);
  return { folder, files, diagnostics, reused, beside };
}

/** One that does not hold the folder grants nothing beyond it. */
function rootOf(folder: string, given: string | undefined): string {
  if (given === undefined) return folder;
  const root = findPackFolder(given);
  return typeof root === 'string' && isWithin(folder, root) ? root : folder;
}

function besideOf(folder: string, files: readonly CheckedFile[]): readonly string[] {
  const paths = new Set<string>();
  for (const { made } of files)
    for (const { path, stamp } of made?.().depends ?? [])
      if (stamp && path.startsWith('../')) paths.add(path);
  return [...paths].map((path) => realpathSync.native(join(folder, path))).sort();
}

const START = { line: 1, column: 1 };
