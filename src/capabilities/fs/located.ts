// Owns: what it means that a place beneath a root was found and pinned.
// Refuses: to find it (beneath) or to read it (read-file).
import { type BigIntStats, closeSync } from 'node:fs';
import type { Root } from './root.ts';

/** `path` reaches exactly this thing, and `path/child` exactly its children, until `release`. */
export interface Located {
  readonly root: Root;
  /** Where it really is, after links; '.' is the root itself. */
  readonly rel: string;
  readonly stat: BigIntStats;
  readonly path: string;
  /** -1 where places are known by name only. */
  readonly fd: number;
}

/** Whether a link in the last component is followed, or is itself the place that is meant. */
export type LastLink = 'follow' | 'keep';

export function release(found: Located): void {
  if (found.fd >= 0) closeSync(found.fd);
}

export type EntryType = 'file' | 'dir' | 'link' | 'other';

export function typeOf(stat: BigIntStats): EntryType {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'dir';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

/** Permission bits, with set-user-id and the like. */
export function modeOf(stat: BigIntStats): number {
  return Number(stat.mode & 0o7777n);
}

export function ownerIn(stat: BigIntStats): { readonly uid: number; readonly gid: number } {
  return { uid: Number(stat.uid), gid: Number(stat.gid) };
}

export function sameThing(a: BigIntStats, b: BigIntStats | undefined): boolean {
  return b !== undefined && a.ino === b.ino && a.dev === b.dev;
}
