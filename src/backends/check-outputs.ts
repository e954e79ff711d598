// Owns: whether out/ holds exactly what a plan declares, once nothing writes to it any more. All backends ask it.
// Refuses: links, devices, pipes, sockets, names that nobody declared, and to say yes to what it cannot look at.

import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import type { AttemptCause } from '../contract/attempt-cause.ts';
import type { ExecutionPlan } from '../contract/plan.ts';

export interface OutputProblem {
  readonly cause: Extract<AttemptCause, 'tool.outputs' | 'limit.output_bytes'>;
  readonly message: string;
}

/** More entries than this count as too much output, however small they are. */
export const MAX_ENTRIES = 100_000;

/**
 * The first problem, or undefined. A declared output is a regular file, or a folder to which every file and folder below it
 * belongs; other folders are there only on the way to one.
 */
export async function checkOutputs(
  out: string,
  { outputs, resources }: Pick<ExecutionPlan, 'outputs' | 'resources'>,
): Promise<OutputProblem | undefined> {
  const declared = new Map(outputs.map(({ src }) => [placeOf(src), kindOf(src)]));
  const onTheWay = new Set([...declared.keys()].flatMap(ancestors));
  const isInside = (path: string) => ancestors(path).some((folder) => declared.get(folder) === 'folder');
  const found = new Set<string>();
  let problem: string | undefined;
  let bytes = 0;
  let entries = 0;
  for await (const entry of outEntries(out)) {
    bytes += entry.bytes;
    entries++;
    // Too much comes first: what was cut off by its end is no reason of its own.
    const over = overLimit(bytes, entries, resources.outputBytes);
    if (over) return over;
    const { path, kind } = entry;
    if (declared.has(path)) found.add(path);
    problem ??= describe(
      entry,
      declared.get(path) === kind || (kind === 'folder' && onTheWay.has(path)) || isInside(path),
    );
  }
  if (problem === undefined) {
    const missing = outputs.find(({ src }) => !found.has(placeOf(src)));
    if (missing) problem = `the output "${missing.role}" is not there: nothing is at "out/${missing.src}"`;
  }
  return problem === undefined
    ? undefined
    : { cause: 'tool.outputs', message: `Cannot take the outputs: ${problem}` };
}

/** The problem of so many bytes and entries, or undefined. */
export function overLimit(bytes: number, entries: number, limit: number): OutputProblem | undefined {
  const cause = 'limit.output_bytes';
  if (bytes > limit)
    return { cause, message: `Ended the attempt: it wrote more than ${limit} bytes to out/` };
  if (entries > MAX_ENTRIES)
    return { cause, message: `Ended the attempt: it made more than ${MAX_ENTRIES} entries in out/` };
  return undefined;
}

const WRONG_KINDS: Readonly<Partial<Record<OutEntry['kind'], string>>> = {
  link: 'is a symbolic link',
  special: 'is no regular file',
  unreadable: 'cannot be looked at',
};

function describe({ path, kind }: OutEntry, belongs: boolean): string | undefined {
  const wrong = WRONG_KINDS[kind] ?? (belongs ? undefined : `was not declared as a ${kind}`);
  return wrong && `${JSON.stringify(`out/${path}`)} ${wrong}`;
}

/** Without the slash that says that it is a folder. */
export const placeOf = (src: string): string => (src.endsWith('/') ? src.slice(0, -1) : src);

export const kindOf = (src: string): 'file' | 'folder' => (src.endsWith('/') ? 'folder' : 'file');

/** `a/b/c` has `a` and `a/b`. */
function ancestors(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, n) => names.slice(0, n + 1).join('/'));
}

export interface OutEntry {
  /** Below out/, with slashes; bytes that are no UTF-8 show as U+FFFD. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'special' | 'unreadable';
  /** How long it is, with what is sparse in it; 0 for what is no file. */
  readonly bytes: number;
  /** What it takes on the disk: more than `bytes` where space was set aside. */
  readonly taken: number;
}

/** Folders before what is in them. What vanishes meanwhile is left out. */
export async function* outEntries(out: string): AsyncGenerator<OutEntry> {
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    const folder = below === '' ? out : `${out}/${below}`;
    const entries = await attempt(readdir(folder, { withFileTypes: true }) as Promise<Dirent[]>);
    if (entries === 'gone') continue;
    if (entries === 'unreadable') {
      yield { path: below || '.', kind: 'unreadable', bytes: 0, taken: 0 };
      continue;
    }
    for (const { name } of entries) {
      const path = below === '' ? name : `${below}/${name}`;
      const stats = await attempt(lstat(`${out}/${path}`));
      if (stats === 'gone') {
        // A name that is no UTF-8 cannot be asked for by the text that stands for it.
        if (name.includes('\ufffd')) yield { path, kind: 'unreadable', bytes: 0, taken: 0 };
        continue;
      }
      if (stats === 'unreadable') {
        yield { path, kind: 'unreadable', bytes: 0, taken: 0 };
        continue;
      }
      const kind = entryKindOf(stats);
      if (kind === 'folder') waiting.push(path);
      yield { path, kind, bytes: kind === 'file' ? stats.size : 0, taken: stats.blocks * 512 };
    }
  }
}

function entryKindOf(stats: Stats): OutEntry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  return stats.isSymbolicLink() ? 'link' : 'special';
}

async function attempt<T extends object>(action: Promise<T>): Promise<T | 'gone' | 'unreadable'> {
  try {
    return await action;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'unreadable';
  }
}
