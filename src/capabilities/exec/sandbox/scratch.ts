// Owns: the folder with a sandbox's pipes and the small files that it shows inside.
// Refuses: to lie where a sandboxed program could see it, and to be removed as a whole (a workspace is mounted in it).
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { orUndefined } from '../../../base/or-undefined.ts';
import { isWithin } from '../../../base/rel-path.ts';
import { ownPrefix, removeLeftovers } from './leftovers.ts';
import { seccompFilter } from './seccomp.ts';
import { singleProcessProgram } from './single-process.ts';

const KIND = 'haft-sandbox';

/** Makes the folder, or answers undefined where every place for it lies within one of `visible`. */
export function createScratch(visible: readonly string[]): string | undefined {
  const place = PLACES().find(
    (candidate) => isFolder(candidate) && !visible.some((dir) => isWithin(candidate, dir)),
  );
  if (place === undefined) return undefined;
  removeLeftovers(place, KIND, removeScratch);
  const scratch = mkdtempSync(join(place, ownPrefix(KIND)));
  chmodSync(scratch, 0o711);
  for (const name of ['share', 'proxy', 'm']) {
    mkdirSync(join(scratch, name));
    chmodSync(join(scratch, name), 0o711);
  }
  for (const [name, { bytes, mode }] of Object.entries(SHARED_FILES())) {
    const path = join(scratch, 'share', name);
    writeFileSync(path, bytes, { mode: 0o600 });
    chmodSync(path, mode);
  }
  return scratch;
}

/** What the keeper removes at its end, for the case that it had none. Nothing is ever mounted in `share` and `proxy`. */
export function removeScratch(scratch: string): void {
  for (const name of ['share', 'proxy'])
    orUndefined(() => rmSync(join(scratch, name), { recursive: true, force: true }));
  for (const name of orUndefined(() => readdirSync(scratch)) ?? []) {
    const files = name === 'm' ? [] : (orUndefined(() => readdirSync(join(scratch, name))) ?? []);
    for (const file of files) orUndefined(() => unlinkSync(join(scratch, name, file)));
    orUndefined(() => rmdirSync(join(scratch, name)));
  }
  orUndefined(() => rmdirSync(scratch));
}

const PLACES = () => [process.env.XDG_RUNTIME_DIR ?? '/dev/shm', '/dev/shm', tmpdir(), '/var/tmp'];

const SHARED_FILES = (): Readonly<Record<string, { bytes: string | Uint8Array; mode: number }>> => ({
  seccomp: { bytes: seccompFilter() ?? new Uint8Array(), mode: 0o444 },
  single: { bytes: singleProcessProgram() ?? new Uint8Array(), mode: 0o444 },
  /** What lies over a hidden file: nobody may open it. */
  nothing: { bytes: '', mode: 0o000 },
});

const isFolder = (path: string): boolean => orUndefined(() => statSync(path).isDirectory()) ?? false;
