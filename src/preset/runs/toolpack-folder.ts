// Owns: a toolpack from its folder to tools that a runtime can install: the loader reads it, the adapter asks it.
// Refuses: to ask a module again for definitions that are known by its digest.
import type { KnownDefinitions, ToolpackSite } from '../../adapters/toolpack/open-toolpack.ts';
import { openToolpack } from '../../adapters/toolpack/open-toolpack.ts';
import { BACKENDS } from '../../backends/index.ts';
import type { LoadResult } from '../../contract/manifest.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { lockedFiles } from '../../loader/code/locked-files.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import { readPackFiles } from '../../loader/toolpack/pack-files.ts';

export interface FolderSite extends Omit<ToolpackSite, 'known' | 'dialects'> {
  /** Where known definitions are kept, two levels below the state folder. Absent: nowhere. */
  readonly cacheFolder?: string;
}

/** To be counted up whenever a definition that was good would now be read otherwise or refused. */
const FORMAT = 1;

const DIALECTS = Object.fromEntries(
  BACKENDS.flatMap(({ name, dialect }) => (dialect ? [[name, dialect] as const] : [])),
);

/** Installs with `runtime.installations.add(value)`. `name` is the installation's. */
export async function openToolpackFolder(
  folder: string,
  name: string,
  { cacheFolder, ...site }: FolderSite,
): Promise<LoadResult<OpenPack>> {
  const files = readPackFiles(folder);
  if (!('digest' in files)) return { value: undefined, diagnostics: files };
  const { value, diagnostics } = await openToolpack(files, name, {
    ...site,
    known: cacheFolder === undefined ? undefined : definitionsIn(cacheFolder),
    dialects: DIALECTS,
  });
  return { value: value && { ...value, files: lockedFiles(files) }, diagnostics };
}

const definitionsIn = (folder: string): KnownDefinitions => ({
  read: (digest) => readOwnCache(folder, digest, FORMAT),
  keep: (digest, tools) => writeOwnCache(folder, digest, FORMAT, tools),
});
