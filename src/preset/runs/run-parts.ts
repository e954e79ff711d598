// Owns: where the runs of a workspace are executed: its backends, and the folders that attempts work in.
// Refuses: to start anything before an attempt needs it.
import { createAttemptFolders } from '../../backends/attempt-folders.ts';
import { createLocalBackend } from '../../backends/local/local-backend.ts';
import { createSandbox } from '../../capabilities/exec/sandbox/create-sandbox.ts';
import type { ArtifactStore } from '../../contract/artifacts.ts';
import type { RunParts } from '../../contract/runs.ts';
import { isAlive } from '../../stores/process-identity.ts';

export interface RunPartsSite {
  /** The state folder, `.haft`. */
  readonly folder: string;
  readonly artifacts: ArtifactStore;
  /** This process, as attempts know their owners. */
  readonly process: string;
}

export function createRunParts({ folder, artifacts, process }: RunPartsSite): RunParts {
  const root = `${folder}/runs`;
  return {
    artifacts,
    folders: createAttemptFolders({ root, artifacts }),
    backends: [
      createLocalBackend({ root, sandbox: () => createSandbox({ workspace: root }), process, isAlive }),
    ],
  };
}
