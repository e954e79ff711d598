// Owns: the names of what a process leaves on the machine while it lives, and removing what a dead one left.
// Refuses: to touch what belongs to another user, to a living process, or to a process that it cannot see.
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { orUndefined, succeeds } from '../../../base/or-undefined.ts';

/** Begins the name of everything that this process makes: a process id means something within its namespace only. */
export const ownPrefix = (kind: string): string => `${kind}-${process.pid}-${pidNamespace()}-`;

/**
 * Normally a keeper removes everything. A process that was killed before it had one, or together with it, leaves its
 * folders to the next.
 */
export function removeLeftovers(folder: string, kind: string, remove: (path: string) => void): void {
  const name = new RegExp(`^${kind}-(\\d+)-${pidNamespace()}-`);
  for (const entry of orUndefined(() => readdirSync(folder)) ?? []) {
    const pid = name.exec(entry)?.[1];
    if (pid === undefined || succeeds(() => process.kill(Number(pid), 0))) continue;
    const path = join(folder, entry);
    if (orUndefined(() => lstatSync(path).uid) === process.getuid?.()) remove(path);
  }
}

const pidNamespace = (): string =>
  /\d+/.exec(orUndefined(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';
