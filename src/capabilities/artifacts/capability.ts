// Owns: `ctx.artifacts`: artifacts as a call may use them, every path and every artifact admitted before it is touched.
// Refuses: objects that nobody registered: pre-images of files that policy may deny are objects, too.
import type { ArtifactStore, ArtifactsHandle, TreeItem } from '../../contract/artifacts.ts';
import type { CallScope, FsHandle } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectId } from '../../contract/object-store.ts';

export interface ArtifactsCapabilityParts {
  /** Opened when the first call needs it. */
  store(): Promise<ArtifactStore>;
  /** The guarded files of the same call. */
  files(scope: CallScope): FsHandle;
}

export function createArtifactsCapability(
  parts: ArtifactsCapabilityParts,
): (scope: CallScope) => ArtifactsHandle {
  return (scope) => handleFor(scope, parts);
}

function handleFor(scope: CallScope, { store, files }: ArtifactsCapabilityParts): ArtifactsHandle {
  const admitted = (id: ObjectId): Promise<ArtifactStore> => {
    scope.admit({ kind: 'artifact.read', artifact: id });
    return store();
  };
  const importing = (): Promise<ArtifactStore> => {
    scope.admit({ kind: 'artifact.import' });
    return store();
  };
  return {
    importBytes: async (bytes) => (await importing()).importBytes(bytes),
    importPath: async (path) => importPath(await importing(), files(scope), path, scope.signal),
    async get(id) {
      const artifact = await (await admitted(id)).get(id);
      if (artifact) return artifact;
      throw fail(
        'artifact.unknown',
        `Cannot find ${JSON.stringify(id.slice(0, 80))}: there is no such artifact`,
      );
    },
    async list(query) {
      scope.admit({ kind: 'artifact.read', artifact: '*' });
      return (await store()).list(query);
    },
    entries: async (id) => (await admitted(id)).entries(id),
    read: async (id, part) => (await admitted(id)).read(id, part),
  };
}

async function importPath(store: ArtifactStore, files: FsHandle, path: string, signal: AbortSignal) {
  if (await isFolder(files, path)) {
    const names = await files.tree(path);
    const items = names.map((entry): TreeItem => {
      if (entry.type === 'dir') return { type: 'dir', path: entry.path };
      return { type: 'file', path: entry.path, open: () => files.open(`${path}/${entry.path}`) };
    });
    return store.importTree(items, signal);
  }
  const file = await files.open(path);
  try {
    return await store.importFile(file, signal);
  } finally {
    await file.close();
  }
}

/** A link is followed to its end, as for every read: opening tells what is there. */
async function isFolder(files: FsHandle, path: string): Promise<boolean> {
  const stat = await files.stat(path);
  if (stat?.type !== 'link') return stat?.type === 'dir';
  try {
    await (await files.open(path)).close();
    return false;
  } catch (thrown) {
    if ((thrown as { reason?: string }).reason === 'path.is_directory') return true;
    throw thrown;
  }
}
