// Owns: checked policies kept as JSON beside the workspace's state, so that a warm start loads no YAML library.
// Refuses: failing a load, and entries that it did not write itself on this very disk.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import type { PolicyFile } from '../../contract/policy.ts';

/** To be counted up whenever a file that was good would now be read otherwise or refused. */
const FORMAT = 1;
const MAX_ENTRIES = 8;

/** A policy whose text was checked. What depends on the machine is checked again at each load. */
export interface CheckedPolicy {
  readonly file: PolicyFile;
  readonly lines: { readonly [path: string]: number };
  readonly columns: { readonly [path: string]: number };
  readonly warnings: readonly Diagnostic[];
}

interface CacheEntry extends CheckedPolicy {
  readonly format: number;
  /** Which file on which disk this is. A clone or an archive can bring text along, but not these. */
  readonly made: string;
}

export function readCachedPolicy(folder: string, sha256: string): CheckedPolicy | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(join(folder, `${sha256}.json`), constants.O_RDONLY | constants.O_NOFOLLOW);
    const entry = JSON.parse(readFileSync(descriptor, 'utf8')) as CacheEntry;
    return entry.format === FORMAT && entry.made === birthOf(descriptor) ? entry : undefined;
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Does nothing where the workspace has no state folder yet, or it cannot be written. */
export function writeCachedPolicy(folder: string, sha256: string, policy: CheckedPolicy): void {
  const temporary = join(folder, `${sha256}.${process.pid}.tmp`);
  try {
    if (!existsSync(dirname(dirname(folder)))) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    prune(folder);
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      const { file, lines, columns, warnings } = policy;
      const entry: CacheEntry = { format: FORMAT, made: birthOf(descriptor), file, lines, columns, warnings };
      writeFileSync(descriptor, JSON.stringify(entry));
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, join(folder, `${sha256}.json`));
  } catch {
    remove(temporary);
  }
}

function birthOf(descriptor: number): string {
  const { dev, ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}:${birthtimeNs}`;
}

/** Old policies are cheap to check again, so there is no need to know which of them is the oldest. */
function prune(folder: string): void {
  const entries = readdirSync(folder);
  if (entries.length < MAX_ENTRIES) return;
  for (const name of entries) remove(join(folder, name));
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // What cannot be removed is in nobody's way.
  }
}
