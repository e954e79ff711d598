// Owns: reading `path NUL count`.
// Refuses: files that nobody asked for.
import type { Findings } from '../findings.ts';
import { type OutputReader, openFile } from './output-reader.ts';

const NEWLINE = 10;

export interface CountsReader extends OutputReader {
  /** By path relative to the root. */
  readonly counts: ReadonlyMap<string, number>;
}

export function createCountsReader(findings: Findings): CountsReader {
  const counts = new Map<string, number>();
  let carry: Buffer = Buffer.alloc(0);
  let count = 0;
  return {
    counts,
    get count() {
      return count;
    },
    feed(chunk) {
      const all = Buffer.concat([carry, chunk]);
      let at = 0;
      for (let nul = all.indexOf(0); nul >= 0; nul = all.indexOf(0, at)) {
        const end = all.indexOf(NEWLINE, nul);
        if (end < 0) break;
        const found = openFile(findings, all.subarray(at, nul));
        if (found) {
          const lines = Number(all.toString('latin1', nul + 1, end));
          counts.set(found.rel, lines);
          count += lines;
        }
        at = end + 1;
      }
      carry = all.subarray(at);
    },
  };
}
