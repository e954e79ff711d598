// Owns: a private Slurm cluster for the tests of one process: started when first asked for, stopped after the last test.
// Refuses: to hide that there is none: a test that cannot have a cluster is skipped, with what would help.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { isAlive, processIdentity } from '../../src/stores/process-identity.ts';
import { type SlurmCluster, type SlurmSettings, slurmUnavailable, startSlurm, stopSlurm } from './slurm.ts';

export interface SlurmForTests {
  /** For `describe(title, { skip })`. */
  readonly skip: string | false;
  cluster(): Promise<SlurmCluster>;
  /** Runs a test's body on the cluster, or skips the test. */
  with(test: TestContext, body: (cluster: SlurmCluster) => Promise<void>): Promise<void>;
}

/** Call it while a test file loads: it adds a hook that stops the cluster. */
export function withSlurm(settings: SlurmSettings = {}): SlurmForTests {
  const skip = slurmUnavailable() ?? false;
  let started: Promise<SlurmCluster> | undefined;
  const cluster = () => (started ??= startOwn(settings));
  after(async () => {
    const running = await started?.catch(() => undefined);
    if (!running) return;
    await running.stop();
    rmSync(running.folder, { recursive: true, force: true });
  });
  return {
    skip,
    cluster,
    async with(test, body) {
      if (skip !== false) return test.skip(skip);
      await body(await cluster());
    },
  };
}

const PREFIX = 'haft-cluster-';

async function startOwn(settings: SlurmSettings): Promise<SlurmCluster> {
  await stopAbandoned();
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // Ordinary users reach munge's socket below it.
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, 'owner'), processIdentity());
  return startSlurm(folder, settings);
}

/** Clusters of test processes that were killed before they could stop them. */
async function stopAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = readOwner(folder);
    if (owner === undefined || isAlive(owner)) continue;
    await stopSlurm(folder);
    rmSync(folder, { recursive: true, force: true });
  }
}

function readOwner(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, 'owner'), 'utf8');
  } catch {
    return undefined;
  }
}
