// Owns: a workspace that is there for as long as a toolpack is tried out.
// Refuses: to leave it behind.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface BenchFolder {
  readonly path: string;
  remove(): void;
}

export function makeBenchFolder(): BenchFolder {
  const path = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-bench-')));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
