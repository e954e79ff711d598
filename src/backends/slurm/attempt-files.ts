// Owns: what is kept in an attempt's `meta/`: names, durable writes, and things that only one process can put there.
// Refuses: to change what is there. Claim, result and end are each written once, by whoever comes first.
import { link, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '../../base/new-id.ts';
import type { AttemptEnd } from '../../contract/backend.ts';

export interface AttemptFiles {
  /** That somebody meant to submit it. Durable before the first sbatch. */
  readonly intent: string;
  /** Touched before every sbatch. */
  readonly asked: string;
  /** That the caller wants it ended. */
  readonly cancel: string;
  /** Who executes it: a job, or nobody any more. */
  readonly claim: string;
  /** What the job says about its end. */
  readonly result: string;
  /** What the backend says about its end; the last word. */
  readonly end: string;
  readonly observed: string;
  /** Why the job could not start the program, in words. */
  readonly trouble: string;
  readonly log: string;
  readonly streams: Readonly<Record<'stdout' | 'stderr', string>>;
}

export function attemptFiles(folder: string): AttemptFiles {
  const meta = (name: string) => join(folder, 'meta', name);
  return {
    intent: meta('slurm.json'),
    asked: meta('slurm-asked'),
    cancel: meta('slurm-cancel'),
    claim: meta('claim'),
    result: meta('result.json'),
    end: meta('end.json'),
    observed: meta('observed'),
    trouble: meta('trouble'),
    log: meta('log'),
    streams: { stdout: meta('stdout'), stderr: meta('stderr') },
  };
}

/** Who took the claim. `nobody` makes sure that no job will ever execute the attempt. */
export type Claim =
  | { readonly by: 'job'; readonly job: string; readonly restart: number; readonly node: string }
  | { readonly by: 'nobody'; readonly end: AttemptEnd };

/** Puts a value in place, durably, unless something is there: false then. */
export async function writeOnce(path: string, value: unknown): Promise<boolean> {
  const temporary = `${path}.${newId('tmp')}`;
  await mkdir(dirname(path), { recursive: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(JSON.stringify(value));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // A link, since a rename would replace what is there.
    await link(temporary, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    // A network file system may have lost the answer to a link that it made.
    return (await stat(temporary)).nlink === 2;
  } finally {
    await rm(temporary, { force: true });
    await syncFolder(dirname(path));
  }
}

/** Undefined where there is nothing. What is there but no JSON is a fault of the file system: it throws. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Milliseconds since it was written; infinite where it is not there. */
export async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
