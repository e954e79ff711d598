// Owns: the names of files on their way into or out of place, and who may still be using one.
// Refuses: to touch files.
import { readFileSync, readlinkSync } from 'node:fs';

const PREFIX = '.haft-tmp-';

/** Makes names that no other process makes: they say which process of which machine state made them. */
export function createTempNames(pid: number = process.pid): () => string {
  let owner: string | undefined;
  let count = 0;
  return () => {
    owner ??= ownerOf(pid) ?? `${pid}-0-0`;
    return `${PREFIX}${owner}-${(count++).toString(36)}-${random()}`;
  };
}

export function isTempName(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** True when a path, or a part of it, is on its way into or out of place. */
export function hasTempName(rel: string): boolean {
  return rel.includes(PREFIX) && rel.split('/').some(isTempName);
}

/**
 * `alive`: the process that made it still runs. `dead`: it does not. `unknown`: it ran where this process cannot look
 * (another process namespace, or a system without /proc).
 */
export function makerOf(name: string): 'alive' | 'dead' | 'unknown' {
  const [pid, started, namespace] = name.slice(PREFIX.length).split('-');
  if (!pid || !/^\d+$/.test(pid) || !namespace || namespace !== namespaceNumber()) return 'unknown';
  return ownerOf(Number(pid)) === `${pid}-${started}-${namespace}` ? 'alive' : 'dead';
}

/** A process number alone comes round again; with its start time it does not. */
function ownerOf(pid: number): string | undefined {
  const namespace = namespaceNumber();
  if (!namespace) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
    return `${pid}-${started}-${namespace}`;
  } catch {
    return undefined;
  }
}

function namespaceNumber(): string | undefined {
  try {
    return /\[(\d+)\]/.exec(readlinkSync('/proc/self/ns/pid'))?.[1];
  } catch {
    return undefined;
  }
}

function random(): string {
  return Math.random().toString(36).slice(2, 8);
}
