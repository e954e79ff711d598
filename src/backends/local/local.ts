// Owns: the backend `local`: the sandbox of this machine, which takes every plan and has nothing to set.
// Refuses: images; programs are the machine's.
import type { BackendKind } from '../../contract/backend.ts';

export const local: BackendKind = {
  name: 'local',
  images: 'none',
  here: true,
  async open({ root, process, isAlive, imageEnv, sandbox }) {
    const { createLocalBackend } = await import('./local-backend.ts');
    const made = await sandbox();
    return createLocalBackend({ root, sandbox: () => made, imageEnv, process, isAlive });
  },
};
