// Owns: where Haft's own folders of this user lie on the disk, and the links on the way there.
// Refuses: to go by one variable alone: another command of the same user may be started without it.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheFolder, configFolder } from '../contract/own-folders.ts';

export interface OwnFolders {
  /** Absolute: as named, and where links lead. They need not be there. */
  readonly folders: readonly string[];
  /** Absolute: links on the way to them. Whoever changes one changes which folder is Haft's. */
  readonly links: readonly string[];
}

export function findOwnFolders(env: NodeJS.ProcessEnv = process.env): OwnFolders {
  const folders = new Set<string>();
  const links = new Set<string>();
  for (const source of [env, { HOME: env.HOME }, { HOME: homeOfUser() }]) {
    for (const named of [configFolder(source), cacheFolder(source)]) {
      if (named === undefined) continue;
      // Nearly always it is written as it should be, and a start has no time to lose.
      const folder = /\/(?:\/|\.\.?(?:\/|$))/.test(named) ? join(named) : named;
      if (folders.has(folder)) continue;
      const way = follow(named);
      folders.add(folder).add(way.real);
      for (const link of way.links) links.add(link);
    }
  }
  return { folders: [...folders], links: [...links] };
}

function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined; // a user without an entry
  }
}

/** As many links as the system follows. */
const MAX_LINKS = 40;

/** As the system does, name by name; also through links to what is not there yet. */
function follow(path: string): { readonly real: string; readonly links: readonly string[] } {
  if (leadsToItself(path)) return { real: path, links: [] };
  const links: string[] = [];
  const names = path.split('/');
  let at = '/';
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === '..') at = dirname(at);
    if (name === '' || name === '.' || name === '..') continue;
    const next = join(at, name);
    const target = links.length < MAX_LINKS ? targetOf(next) : undefined;
    if (target === undefined) {
      at = next;
      continue;
    }
    links.push(next);
    if (target.startsWith('/')) at = '/';
    names.unshift(...target.split('/'));
  }
  return { real: at, links };
}

/** The usual case, asked at once: every start asks. */
function leadsToItself(path: string): boolean {
  try {
    return realpathSync.native(path) === path;
  } catch {
    return false;
  }
}

function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}
