// Owns: the folders that attempts work in, on this machine: made whole or not at all, emptied into artifacts, removed.
// Refuses: outputs that are not what they should be, and to follow a link that a program left.
import { appendFile, chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { newId } from '../base/new-id.ts';
import type { ArtifactStore } from '../contract/artifacts.ts';
import { fail, isFailure } from '../contract/errors.ts';
import type { ExecutionPlan } from '../contract/plan.ts';
import type { AttemptFolders } from '../contract/runs.ts';
import { kindOf, placeOf } from './check-outputs.ts';
import { readJson, writeOnce } from './write-once.ts';

interface AttemptFoldersParts {
  /** `.haft/runs` */
  readonly root: string;
  readonly artifacts: Pick<ArtifactStore, 'materialise' | 'importPath' | 'importStream'>;
}

export function createAttemptFolders({ root, artifacts }: AttemptFoldersParts): AttemptFolders {
  const at = (attemptId: string): string => join(root, requireName(attemptId));
  const notes = (attemptId: string): string => join(at(attemptId), 'meta/notes');

  const fill = async (folder: string, { inputs }: ExecutionPlan): Promise<void> => {
    for (const name of ['in', 'out', 'meta']) await mkdir(join(folder, name), { recursive: true });
    for (const { artifact, dest } of inputs) {
      const path = join(folder, 'in', dest);
      await mkdir(dirname(path), { recursive: true });
      await artifacts.materialise(artifact, path);
    }
  };

  return {
    at,
    async prepare(attemptId, plan) {
      const folder = at(attemptId);
      if (await exists(folder)) return folder;
      await mkdir(root, { recursive: true, mode: 0o700 });
      const temporary = `${folder}.${newId('tmp')}`;
      try {
        await fill(temporary, plan);
        await rename(temporary, folder);
      } catch (thrown) {
        await removeTree(temporary);
        // Another process was faster: theirs is as good.
        if (!(await exists(folder))) throw outOfSpace(thrown);
      }
      return folder;
    },
    async collect(attemptId, src) {
      try {
        // With the slash, a link in its place would be followed.
        const made = await artifacts.importPath(join(at(attemptId), 'out', placeOf(src)));
        if ((made.kind === 'tree') === (kindOf(src) === 'folder')) return made;
        throw fail('path.not_regular', 'it is of the other kind');
      } catch (thrown) {
        if (!isFailure(thrown) || !thrown.reason.startsWith('path.')) throw thrown;
        throw fail(
          'run.outputs',
          `Cannot take the output at "out/${src}": it is not a ${kindOf(src) === 'file' ? 'file' : 'folder of files'}`,
        );
      }
    },
    async note(attemptId, text) {
      await mkdir(dirname(notes(attemptId)), { recursive: true });
      await appendFile(notes(attemptId), text.endsWith('\n') ? text : `${text}\n`);
    },
    collectLog: (attemptId) =>
      artifacts.importStream(pieces([join(at(attemptId), 'meta/log'), notes(attemptId)])),
    async remove(attemptId) {
      const folder = at(attemptId);
      // A process that died while it made the folder left the beginning of one.
      const begun = (await readdir(root).catch(() => [])).filter((name) => name.startsWith(`${attemptId}.`));
      for (const path of [folder, ...begun.map((name) => join(root, name))]) await removeTree(path);
    },
    async list() {
      const names = await readdir(root).catch(() => []);
      return [...new Set(names.flatMap((name) => /^att_[a-z0-9]+(?=\.|$)/.exec(name) ?? []))];
    },
  };
}

/** An attempt's id is a name in a folder, and nothing else. */
function requireName(attemptId: string): string {
  if (/^att_[a-z0-9]+$/.test(attemptId)) return attemptId;
  throw fail('path.invalid', 'Cannot find the folder of the attempt: its id is not one');
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function outOfSpace(thrown: unknown): unknown {
  const { code } = thrown as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? fail('file.no_space', 'Cannot prepare the attempt: the disk is full')
    : thrown;
}

/** Programs may leave folders that not even their owner can empty. */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await openUp(path);
    await rm(path, { recursive: true, force: true });
  }
}

async function openUp(path: string): Promise<void> {
  await chmod(path, 0o700).catch(() => {});
  for (const entry of await readdir(path, { withFileTypes: true }).catch(() => []))
    if (entry.isDirectory()) await openUp(join(path, entry.name));
}

const PIECE = 1024 * 1024;

async function* pieces(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    const file = await open(path, 'r').catch(() => undefined);
    if (!file) continue;
    try {
      for (;;) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE, null);
        if (bytesRead === 0) break;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}

/** `folder` is the workspace's own: `.haft/runs`. Whoever comes first decides. */
export async function workspaceScope(folder: string): Promise<string> {
  const file = join(folder, 'scope.json');
  const known = await readJson<string>(file);
  if (known !== undefined) return known;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeOnce(file, newId('scope'));
  return (await readJson<string>(file)) as string;
}
