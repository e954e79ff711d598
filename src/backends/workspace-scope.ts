// Owns: the word that tells the attempts of this workspace from those of others on a shared engine, kept beside them.
// Refuses: a path: two machines may use the same one, and a workspace may move.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '../base/new-id.ts';
import { readJson, writeOnce } from './write-once.ts';

/** `folder` is the workspace's own: `.haft/runs`. Whoever comes first decides. */
export async function workspaceScope(folder: string): Promise<string> {
  const file = join(folder, 'scope.json');
  const known = await readJson<string>(file);
  if (known !== undefined) return known;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeOnce(file, newId('scope'));
  return (await readJson<string>(file)) as string;
}
