// Owns: the folder with a sandbox's pipes and the small files that it shows inside, and removing what a dead process left.
// Refuses: to lie where a sandboxed program could see it, to be removed as a whole (a workspace is mounted in it), and to touch
// what belongs to another user, to a living process, or to a process that it cannot see.
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ignoreErrors, succeeds } from '../../../base/ignore-errors.ts';
import { isWithin } from '../../../base/rel-path.ts';
import { seccompFilter, singleProcessProgram } from './seccomp.ts';

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
    ignoreErrors(() => rmSync(join(scratch, name), { recursive: true, force: true }));
  for (const name of ignoreErrors(() => readdirSync(scratch)) ?? []) {
    const files = name === 'm' ? [] : (ignoreErrors(() => readdirSync(join(scratch, name))) ?? []);
    for (const file of files) ignoreErrors(() => unlinkSync(join(scratch, name, file)));
    ignoreErrors(() => rmdirSync(join(scratch, name)));
  }
  ignoreErrors(() => rmdirSync(scratch));
}

const PLACES = () => [process.env.XDG_RUNTIME_DIR ?? '/dev/shm', '/dev/shm', tmpdir(), '/var/tmp'];

const SHARED_FILES = (): Readonly<Record<string, { bytes: string | Uint8Array; mode: number }>> => ({
  seccomp: { bytes: seccompFilter() ?? new Uint8Array(), mode: 0o444 },
  single: { bytes: singleProcessProgram() ?? new Uint8Array(), mode: 0o444 },
  /** What lies over a hidden file: nobody may open it. */
  nothing: { bytes: '', mode: 0o000 },
});

const isFolder = (path: string): boolean => ignoreErrors(() => statSync(path).isDirectory()) ?? false;

/** Begins the name of everything that this process makes: a process id means something within its namespace only. */
export const ownPrefix = (kind: string): string => `${kind}-${process.pid}-${pidNamespace()}-`;

/**
 * Normally a keeper removes everything. A process that was killed before it had one, or together with it, leaves its
 * folders to the next.
 */
export function removeLeftovers(folder: string, kind: string, remove: (path: string) => void): void {
  const name = new RegExp(`^${kind}-(\\d+)-${pidNamespace()}-`);
  for (const entry of ignoreErrors(() => readdirSync(folder)) ?? []) {
    const pid = name.exec(entry)?.[1];
    if (pid === undefined || succeeds(() => process.kill(Number(pid), 0))) continue;
    const path = join(folder, entry);
    if (ignoreErrors(() => lstatSync(path).uid) === process.getuid?.()) remove(path);
  }
}

const pidNamespace = (): string =>
  /\d+/.exec(ignoreErrors(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';
