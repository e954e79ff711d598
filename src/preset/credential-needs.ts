// Owns: which credentials the packs of a workspace need, by what they declare.
// Refuses: to start a server for it: some start only once their credential is set.
import { isFailure } from '../contract/errors.ts';
import type { PackNeed } from './packs/pack-source.ts';
import { sourceOf } from './packs/sources/index.ts';
import { withWorkspacePacks } from './packs/workspace-packs.ts';

export type DeclaredNeed = PackNeed;

/** Packs that are disabled need nothing. Where haft.yaml cannot be read nothing is known, and nothing is needed. */
export async function credentialNeeds(workspace: string): Promise<readonly DeclaredNeed[]> {
  try {
    const entries = await withWorkspacePacks(workspace, (packs) => packs.entries(), { looks: true });
    const needs = entries.map((entry) => sourceOf(entry, workspace).needs?.(entry, workspace) ?? []);
    return (await Promise.all(needs)).flat();
  } catch (thrown) {
    if (isFailure(thrown)) return [];
    throw thrown;
  }
}
