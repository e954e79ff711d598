// Owns: an artifact store in a temporary workspace, as the tests beside this file want it.
// Refuses: to hold tests of its own.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ArtifactStore } from '../../contract/artifacts.ts';
import { type ObjectsEnvironment, openObjectsEnvironment } from '../objects/environment-for-tests.ts';
import { openObjectStore } from '../objects/open-object-store.ts';
import { openSqliteStore, type SqliteStore } from '../sqlite/open-sqlite-store.ts';
import { openArtifactStore } from './open-artifact-store.ts';

export interface ArtifactsEnvironment extends ObjectsEnvironment {
  readonly artifacts: ArtifactStore;
  /** An empty folder beside the workspace. */
  readonly scratch: string;
  /** The same artifacts, so many milliseconds from now. */
  later(ms: number): ArtifactStore;
  /** The same artifacts, as a process that has seen none of them so far has them. */
  another(): Promise<ArtifactStore>;
}

export async function inArtifacts(test: (env: ArtifactsEnvironment) => Promise<void>): Promise<void> {
  const env = await openObjectsEnvironment();
  const scratch = await mkdtemp(join(tmpdir(), 'haft-artifacts-'));
  const { objects } = env;
  const rows = env.sqlite.store.artifacts;
  const later = (ms: number) => openArtifactStore({ objects, rows, clock: { now: () => Date.now() + ms } });
  const opened: SqliteStore[] = [];
  const another = async () => {
    const store = await openSqliteStore({
      folder: env.sqlite.folder,
      process: env.sqlite.livingProcess,
      clock: Date,
    });
    opened.push(store);
    const own = openObjectStore({
      folder: env.folder,
      process: env.sqlite.livingProcess,
      small: store.smallObjects,
      uses: store.objectUses,
    });
    return openArtifactStore({ objects: own, rows: store.artifacts, clock: Date });
  };
  try {
    await test({ ...env, scratch, later, another, artifacts: later(0) });
  } finally {
    for (const store of opened) await store.close();
    await env.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
