// Owns: noticing that files of a folder were written, created or removed, or that something changed in folders of any depth, for hosts that live long.
// Refuses: to read what changed (whoever watches does, and keeps what held before where the new one has errors), and to look into hidden folders and installed packages.
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Editors write a file in several steps; one change is told for all of them. */
const SETTLE_MS = 100;

/** Answers the function that ends it. Does not keep the process alive. */
export function watchFiles(
  folder: string,
  names: readonly string[],
  changed: (name: string) => void,
): () => void {
  const timers = new Map<string, NodeJS.Timeout>();
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name === null || !names.includes(name)) return;
      clearTimeout(timers.get(name));
      timers.set(name, setTimeout(() => changed(name), SETTLE_MS).unref());
    });
    watcher.on('error', () => watcher.close());
    return () => {
      for (const timer of timers.values()) clearTimeout(timer);
      watcher.close();
    };
  } catch {
    // Where the system cannot watch, what is new holds from the next start on.
    return () => {};
  }
}

/** What changes all the time is told all the same. */
const LONGEST_MS = 1_000;
const MAX_FOLDERS = 2_000;

interface FolderWatch {
  /** Watches these from now on, as deep as they are now, and nothing else. What is not there yet is told when it comes. */
  set(folders: readonly string[], files: readonly string[]): void;
  close(): void;
}

/** Does not keep the process alive. `failed` is told once, where the system cannot watch. */
export function watchFolders(changed: () => void, failed: (fact: string) => void): FolderWatch {
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let first = 0;
  let told = false;
  const schedule = () => {
    const now = Date.now();
    if (timer) clearTimeout(timer);
    else first = now;
    const wait = Math.max(0, Math.min(SETTLE_MS, first + LONGEST_MS - now));
    timer = setTimeout(() => {
      timer = undefined;
      changed();
    }, wait).unref();
  };
  const fail = (fact: string) => {
    if (!told) failed(fact);
    told = true;
  };
  const begin = (folder: string, names: Names, ino: number): void => {
    try {
      const entry: Watched = { names, ino, watcher: undefined as never };
      entry.watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (entry.names === 'all' || name === null || entry.names.has(name)) schedule();
      });
      entry.watcher.on('error', () => end(folder));
      watched.set(folder, entry);
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') fail(`the system reports ${code}`);
    }
  };
  const end = (folder: string): void => {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  };
  return {
    set(folders, files) {
      const wanted = wantedFolders(folders, files);
      if (wanted.size > MAX_FOLDERS) fail(`there are more than ${MAX_FOLDERS} folders`);
      for (const folder of [...watched.keys()]) if (!wanted.has(folder)) end(folder);
      for (const [folder, names] of [...wanted].slice(0, MAX_FOLDERS)) {
        const ino = statSync(folder, { throwIfNoEntry: false })?.ino;
        const known = watched.get(folder);
        if (known && known.ino === ino) known.names = names;
        else {
          // Another folder of the same name is not what was watched.
          end(folder);
          if (ino !== undefined) begin(folder, names, ino);
        }
      }
    },
    close() {
      if (timer) clearTimeout(timer);
      for (const folder of [...watched.keys()]) end(folder);
    },
  };
}

type Names = 'all' | Set<string>;

interface Watched {
  names: Names;
  readonly ino: number;
  watcher: FSWatcher;
}

/** Each with the names in it that matter: of what lies above, only those on the way. */
function wantedFolders(folders: readonly string[], files: readonly string[]): Map<string, Names> {
  const wanted = new Map<string, Names>();
  const name = (path: string) => {
    const above = dirname(path);
    const names = wanted.get(above) ?? new Set<string>();
    if (names !== 'all') names.add(basename(path));
    wanted.set(above, names);
  };
  for (const folder of folders) for (const one of foldersBelow(folder)) wanted.set(one, 'all');
  for (const path of [...folders, ...files]) name(path);
  return wanted;
}

function foldersBelow(folder: string, depth = 0): string[] {
  try {
    const below = readdirSync(folder, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules',
    );
    const deeper = depth < 32 ? below.flatMap(({ name }) => foldersBelow(join(folder, name), depth + 1)) : [];
    return [folder, ...deeper];
  } catch {
    return [];
  }
}
