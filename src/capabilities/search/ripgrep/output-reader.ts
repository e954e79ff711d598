// Owns: what all readers of ripgrep's output have in common, and how its paths become ours.
// Refuses: paths that are not UTF-8; they are counted and left out.
import { isUtf8 } from 'node:buffer';
import type { FileMatches, Findings } from '../findings.ts';

/** Takes what ripgrep prints, in any pieces. */
export interface OutputReader {
  feed(chunk: Buffer): void;
  /** How many matches were read. */
  readonly count: number;
  /** Records that were too long to be read. */
  readonly oversized?: number;
}

/** Begins the file of this path; undefined where it is not wanted. */
export function openFile(findings: Findings, path: Buffer): FileMatches | undefined {
  if (!isUtf8(path)) {
    findings.skipUnnamed();
    return undefined;
  }
  // Paths come as they were given, so with a `./` that we put before them.
  const given = path[0] === DOT && path[1] === SLASH ? 2 : 0;
  return findings.open(path.toString('utf8', given));
}

const DOT = 46;
const SLASH = 47;
