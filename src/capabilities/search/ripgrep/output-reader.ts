// Owns: what all readers of ripgrep's output have in common, and how its paths become ours.
// Refuses: paths that are not UTF-8; they are counted and left out.
import { isUtf8 } from 'node:buffer';
import type { FileMatches, Findings } from '../findings.ts';

/** Takes what ripgrep prints, in any pieces. */
export interface OutputReader {
  feed(chunk: Buffer): void;
  /** How many matches were read. */
  readonly count: number;
}

/** Paths come as they were given, so with a `./` that we put before them. */
export function relOf(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}

/** Begins the file of this path; undefined where it is not wanted. */
export function openFile(findings: Findings, path: string | Buffer): FileMatches | undefined {
  if (typeof path === 'string') return findings.open(relOf(path));
  if (isUtf8(path)) return findings.open(relOf(path.toString('utf8')));
  findings.skipUnnamed();
  return undefined;
}
