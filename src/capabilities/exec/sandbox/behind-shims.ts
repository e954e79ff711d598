// Owns: the folders behind the shims of version managers, for programs that may start no other: a shim is a script that does.
// Refuses: to run a version manager: which version holds is read from where it would read it.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { orUndefined } from '../../../base/or-undefined.ts';

export interface ShimSite {
  /** Version files are looked for here and further up. */
  readonly workspace: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly home?: string;
}

/** `bins` for PATH, with what a shim would have started in the place of its folder; without it where that is not known. */
export function behindShims(bins: readonly string[], site: ShimSite): readonly string[] {
  return bins.flatMap((bin) => {
    if (basename(bin) !== 'shims') return [bin];
    const root = dirname(bin);
    const kind = MANAGERS.find(({ folder }) => folder === basename(root));
    return kind ? kind.bins(root, site) : [bin];
  });
}

interface Manager {
  /** What its shims lie in. */
  readonly folder: string;
  bins(root: string, site: ShimSite): readonly string[];
}

const versions =
  (variable: string, file: string) =>
  (root: string, { workspace, env = process.env }: ShimSite): readonly string[] => {
    const said =
      wordsOf(env[variable]?.replaceAll(':', ' ')) ??
      upwards(workspace, file, wordsOf) ??
      wordsOf(read(join(root, 'version'))) ??
      [];
    return said.flatMap((version) => folderOf(join(root, 'versions'), version) ?? []);
  };

const MANAGERS: readonly Manager[] = [
  { folder: '.pyenv', bins: versions('PYENV_VERSION', '.python-version') },
  { folder: '.rbenv', bins: versions('RBENV_VERSION', '.ruby-version') },
  {
    folder: '.asdf',
    bins(root, { workspace, home = homedir() }) {
      const chosen = (folder: string) => toolVersions(read(join(folder, '.tool-versions')));
      const all = new Map([...chosen(home), ...foldersUp(workspace).toReversed().flatMap(chosen)]);
      return [...all].flatMap(([plugin, version]) => folderOf(join(root, 'installs', plugin), version) ?? []);
    },
  },
];

/** `3.12` stands for the latest 3.12.x, as pyenv has it. */
function folderOf(all: string, version: string): string | undefined {
  if (!/^[\w.+-]+$/.test(version) || version.startsWith('.')) return undefined;
  const names = orUndefined(() => readdirSync(all)) ?? [];
  const latest = names
    .filter((name) => name.startsWith(`${version}.`))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  const name = names.find((one) => one === version) ?? latest;
  const bin = name === undefined ? undefined : join(all, name, 'bin');
  return bin !== undefined && orUndefined(() => statSync(bin))?.isDirectory() ? bin : undefined;
}

function toolVersions(text: string | undefined): (readonly [plugin: string, version: string])[] {
  return (text ?? '').split('\n').flatMap((line) => {
    const [plugin = '', version] = line.replace(/#.*/, '').trim().split(/\s+/);
    return version === undefined || !/^[\w-]+$/.test(plugin) ? [] : [[plugin, version] as const];
  });
}

function upwards<T>(workspace: string, file: string, take: (text: string | undefined) => T | undefined) {
  for (const folder of foldersUp(workspace)) {
    const found = take(read(join(folder, file)));
    if (found) return found;
  }
  return undefined;
}

function foldersUp(from: string): string[] {
  const folders = [from];
  for (let at = from; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at));
  return folders;
}

function wordsOf(text: string | undefined): string[] | undefined {
  const words = (text ?? '')
    .split('\n')
    .flatMap((line) => line.replace(/#.*/, '').trim().split(/\s+/))
    .filter((word) => word !== '');
  return words.length > 0 ? words : undefined;
}

const read = (path: string): string | undefined =>
  orUndefined(() => readFileSync(path, 'utf8').slice(0, 4096));
