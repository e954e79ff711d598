// Owns: what rules match by the names that links give to folders: `current/key.pem`, where `current` leads to `releases/42`.
// Refuses: to follow a link where no rule asks for it, twice for the same, or without an end.
import { realPathOf, statOf } from '../../git-folders.ts';
import { type FenceRule, type FenceRules, type Found, foundBy, list } from './scan-tree.ts';

export interface LinkSearch {
  readonly rules: FenceRules;
  /** How rules name an absolute path. */
  nameOf(path: string): string;
  /** Whether programs are shown this path, or something below it. */
  shown(path: string): boolean;
  readonly maxEntries: number;
}

export interface Linked {
  /** By their real paths. */
  readonly found: readonly Found[];
  /** Where each link led that was followed. */
  readonly followed: ReadonlyMap<string, string>;
  /** Of more entries than may be looked at: the rule that leads there. */
  readonly beyond?: { readonly link: string; readonly rule: FenceRule };
}

/** `links`: absolute paths of links. Those that lead to files are fenced by their own names. */
export function searchLinkedFolders(links: readonly string[], search: LinkSearch): Linked {
  const { rules, nameOf, shown, maxEntries } = search;
  const found: Found[] = [];
  const followed = new Map<string, string>();
  const seen = new Set<string>();
  let entries = 0;
  let beyond: Linked['beyond'];

  const follow = (link: string, name: string, via: readonly string[], readOnly: boolean): void => {
    const real = realPathOf(link);
    if (real === undefined || !shown(real)) return;
    if (statOf(real)?.isDirectory() !== true) return;
    followed.set(link, real);
    const met = rules.met(name);
    if (!met?.hidden) visit(real, name, [...via, link], readOnly || met !== undefined);
  };
  const visit = (real: string, name: string, via: readonly string[], readOnly: boolean): void => {
    const rule = rules.leadsOn(name, nameOf(real), readOnly ? 'read' : undefined);
    if (!rule || beyond) return;
    const key = `${real}\0${readOnly}\0${rules.progress(name)}`;
    if (seen.has(key)) return;
    seen.add(key);
    // What cannot be listed is hidden whole by its own name.
    const inside = list(real) ?? [];
    entries += inside.length + 1;
    if (entries > maxEntries) {
      beyond = { link: via[0]!, rule };
      return;
    }
    for (const entry of inside) {
      const path = `${real === '/' ? '' : real}/${entry.name}`;
      const called = `${name}/${entry.name}`;
      const met = rules.met(called);
      if (met && (met.hidden || !readOnly) && shown(path)) found.push({ ...foundBy(met, path, entry), via });
      if (met?.hidden) continue;
      const held = readOnly || met !== undefined;
      if (entry.isDirectory()) visit(path, called, via, held);
      else if (entry.isSymbolicLink()) follow(path, called, via, held);
    }
  };
  for (const link of links) follow(link, nameOf(link), [], false);
  return { found, followed, ...(beyond ? { beyond } : {}) };
}
