// Owns: what a deterministic run would execute, in terms that every backend understands, and the places below `in/` and `out/` that it names.
// Refuses: host paths, times and machines: nothing here may differ between two equal runs; and to look at any disk.

import { normalizeRelPath, parentOf } from '../base/rel-path.ts';
import type { ObjectId } from './object-store.ts';

/**
 * Where a program finds its files on every backend: it starts in `/work`, `/work/in` is read-only, and only `/work/out`
 * (and `/tmp`) can be written.
 */
export const WORK_FOLDER = '/work';

export interface RunInput {
  readonly role: string;
  readonly artifact: ObjectId;
  /** A safe relative path below `in/`, unique in its plan. */
  readonly dest: string;
}

export interface DeclaredOutput {
  readonly role: string;
  readonly type: string;
  readonly label: string;
  /** A safe relative path below `out/`; one that ends with a slash is a folder. The role `log` is reserved. */
  readonly src: string;
}

export interface ExecutionPlan {
  /** Pinned by digest; absent where the backend runs without images. */
  readonly image?: string;
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly inputs: readonly RunInput[];
  readonly outputs: readonly DeclaredOutput[];
  readonly resources: RunResources;
}

export interface RunResources {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly wallMs: number;
  readonly outputBytes: number;
}

type Place = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly fact: string };

export interface PathFact {
  readonly given: string;
  /** Normal, below `in` or `out`. */
  readonly path: string;
}

/** `in/a/./b` below `in` is `a/b`. With `root` empty, the whole path counts. */
export function below(root: 'in' | 'out' | '', given: unknown): Place {
  const no = (fact: string): Place => ({ ok: false, fact });
  if (typeof given !== 'string' || given === '') return no('there has to be one');
  if (given.trim() !== given) return no('it begins or ends with white space');
  if (/[\u0000-\u001f\u007f\\]/.test(given)) return no('it holds a control character or a backslash');
  if (given.split('/').includes('..')) return no('it holds ".."');
  const normal = normalizeRelPath(given);
  if (!normal.ok) return no(normal.message.replace(/^Cannot use the path: /, ''));
  if (given.endsWith('/')) return no('it names a folder');
  if (root === '') return normal.path === '.' ? no('it names no file') : normal;
  if (!normal.path.startsWith(`${root}/`)) return no(`it does not begin with "${root}/"`);
  return { ok: true, path: normal.path.slice(root.length + 1) };
}

/** Below `out`. A slash at its end says that it is a folder, and stays. */
export function outputPlace(given: unknown): Place {
  const isFolder = typeof given === 'string' && given.endsWith('/');
  const place = below('out', isFolder ? given.slice(0, -1) : given);
  return place.ok && isFolder ? { ok: true, path: `${place.path}/` } : place;
}

/** Pairs that would overwrite one another: the same file, or a file where another needs a folder. */
export function collisions(places: readonly PathFact[]): readonly (readonly [string, string])[] {
  const taken = new Map<string, string>();
  const found: [string, string][] = [];
  for (const { path: place, given } of places) {
    const path = place.endsWith('/') ? place.slice(0, -1) : place;
    const other = taken.get(path);
    if (other === undefined) taken.set(path, given);
    else found.push([other, given]);
  }
  for (const [path, given] of taken) {
    for (let up = parentOf(path); up !== '.'; up = parentOf(up)) {
      const above = taken.get(up);
      if (above !== undefined) found.push([above, given]);
    }
  }
  return found;
}
