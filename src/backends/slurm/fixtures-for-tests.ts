// Owns: a Slurm backend on a cluster and in a folder of its own, for tests.
// Refuses: to know what is tested.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SlurmCluster } from '../../../scripts/engines/slurm.ts';
import type { Backend } from '../../contract/backend.ts';
import { createSlurmBackend, type SlurmBackendOptions } from './slurm-backend.ts';
import { createLocalRunner } from './slurm-client.ts';

export interface SlurmPlace {
  readonly root: string;
  open(options?: Partial<SlurmBackendOptions>): Promise<Backend>;
  close(): Promise<void>;
}

export function slurmPlace({ env }: Pick<SlurmCluster, 'env'>): SlurmPlace {
  const root = mkdtempSync(join(tmpdir(), 'haft-slurm-test-'));
  const opened: Backend[] = [];
  return {
    root,
    async open(options = {}) {
      const run = createLocalRunner({ env });
      const own = { run, scope: root, folder: join(root, 'slurm'), pollMs: 300 };
      const backend = await createSlurmBackend({ ...own, ...options });
      opened.push(backend);
      return backend;
    },
    async close() {
      for (const backend of opened) await backend.close();
      rmSync(root, { recursive: true });
    },
  };
}
