import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { withSlurm } from '../../../scripts/engines/with-slurm.ts';
import type { Backend } from '../../contract/backend.ts';
import { backendSuite } from '../../testing/backend-suite.ts';
import { createLocalRunner } from './command-runner.ts';
import { createSlurmBackend } from './slurm-backend.ts';

const slurm = withSlurm();

describe('the Slurm backend on a real cluster', { skip: slurm.skip }, () => {
  backendSuite('slurm', async () => {
    const { env } = await slurm.cluster();
    const root = mkdtempSync(join(tmpdir(), 'haft-slurm-suite-'));
    const opened: Backend[] = [];
    const open = async () => {
      const run = createLocalRunner({ env });
      const backend = await createSlurmBackend({
        run,
        workspace: root,
        folder: join(root, 'slurm'),
        pollMs: 300,
      });
      opened.push(backend);
      return backend;
    };
    return {
      backend: await open(),
      reopen: open,
      root,
      async close() {
        for (const backend of opened) await backend.close();
        rmSync(root, { recursive: true });
      },
    };
  });
});
