// Owns: what makes a private Slurm cluster one for tests.
// Refuses: to start or stop it; engine-for-tests decides when.
import { chmodSync } from 'node:fs';
import { type EngineForTests, engineForTests } from './engine-for-tests.ts';
import { type SlurmCluster, type SlurmSettings, slurmUnavailable, startSlurm, stopSlurm } from './slurm.ts';

/** Call it while a test file loads. */
export const withSlurm = (settings: SlurmSettings = {}): EngineForTests<SlurmCluster> =>
  engineForTests({
    prefix: 'haft-cluster-',
    unavailable: slurmUnavailable,
    start(folder) {
      // Ordinary users reach munge's socket below it.
      chmodSync(folder, 0o755);
      return startSlurm(folder, settings);
    },
    stop: stopSlurm,
  });
