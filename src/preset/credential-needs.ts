// Owns: which credentials the packs of a workspace need, by what they declare.
// Refuses: to start a server for it: some start only once their credential is set.
import { join } from 'node:path';
import type { CredentialNeed } from '../contract/credentials.ts';
import { isFailure } from '../contract/errors.ts';
import { ToolpackLoader } from '../loader/tool-yaml/toolpack-loader.ts';
import type { PackEntry } from './packs/pack-entries.ts';
import { serverNeeds } from './packs/server-needs.ts';
import { withWorkspacePacks } from './packs/workspace-packs.ts';

export interface DeclaredNeed extends CredentialNeed {
  /** The tool, or the pack that is a server. */
  readonly by: string;
}

/** Packs that are disabled need nothing. Where haft.yaml cannot be read nothing is known, and nothing is needed. */
export async function credentialNeeds(workspace: string): Promise<readonly DeclaredNeed[]> {
  try {
    const entries = await withWorkspacePacks(workspace, (packs) => packs.entries());
    const needs = await Promise.all(
      entries.map((entry) =>
        entry.kind === 'path' ? needsOfFolder(workspace, entry) : needsOfServer(entry),
      ),
    );
    return needs.flat();
  } catch (thrown) {
    if (isFailure(thrown)) return [];
    throw thrown;
  }
}

async function needsOfFolder(workspace: string, { path = '.' }: PackEntry): Promise<readonly DeclaredNeed[]> {
  const loader = new ToolpackLoader({ quarantine: true, cacheFolder: `${workspace}/.haft/cache/packs` });
  await loader.loadDir(join(workspace, path), { root: workspace });
  return loader.list().flatMap(({ id, credentials }) => credentials.map((need) => ({ ...need, by: id })));
}

const needsOfServer = ({ name, config }: PackEntry): readonly DeclaredNeed[] =>
  serverNeeds(config).map((need) => ({ ...need, by: name }));
