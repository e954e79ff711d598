// Owns: the effects of file tools, from the paths in their arguments.
// Refuses: to look at the disk: whether a path is a folder is not known here, so moves and copies name the tree.
import type { Effect } from '../../contract/effect.ts';
import type { EffectSite } from '../../contract/tool.ts';

export function reads(site: EffectSite, path: string): Effect {
  return { kind: 'fs.read', path: site.place(path) };
}

export function readsTree(site: EffectSite, path: string): Effect {
  return { kind: 'fs.read', path: site.place(path), tree: true };
}

export function writes(site: EffectSite, path: string): Effect {
  return { kind: 'fs.write', path: site.place(path) };
}

export function writesTree(site: EffectSite, path: string): Effect {
  return { kind: 'fs.write', path: site.place(path), tree: true };
}
