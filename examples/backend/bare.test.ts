import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackendHandle } from '../../src/contract/backend.ts';
import { backendSuite } from '../../src/testing/backend-suite.ts';
import { createBareBackend } from './bare.ts';

backendSuite('the bare backend', async () => {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-bare-')));
  const jobs = new Map<string, BackendHandle>();
  return {
    backend: createBareBackend(0, jobs),
    reopen: async () => createBareBackend(0, jobs), // as a later process would have it; the first is not closed
    root, // where attempts are made
    lacks: ['limit.memory', 'tool.not_started'], // nobody counts memory, and `nice` starts the program
    contained: false, // nothing keeps inputs from being written, or the network away
    async close() {
      for (const job of jobs.values()) await job.cancel();
      rmSync(root, { recursive: true, force: true });
    },
  };
});
