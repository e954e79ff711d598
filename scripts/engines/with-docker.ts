// Owns: a private Docker engine for the tests of one process: started when first asked for, stopped after the last test.
// Refuses: to hide that there is none: a test that cannot have an engine is skipped, with what would help.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { isAlive, processIdentity } from '../../src/stores/process-identity.ts';
import { type DockerEngine, dockerUnavailable, startDocker, stopDocker } from './docker.ts';

export interface DockerForTests {
  /** For `describe(title, { skip })`. */
  readonly skip: string | false;
  engine(): Promise<DockerEngine>;
  /** Runs a test's body on the engine, or skips the test. */
  with(test: TestContext, body: (engine: DockerEngine) => Promise<void>): Promise<void>;
}

/** Call it while a test file loads: it adds a hook that stops the engine. */
export function withDocker(): DockerForTests {
  const skip = dockerUnavailable() ?? false;
  let started: Promise<DockerEngine> | undefined;
  const engine = () => (started ??= startOwn());
  after(async () => {
    const running = await started?.catch(() => undefined);
    if (!running) return;
    await running.stop();
    rmSync(running.folder, { recursive: true, force: true });
  });
  return {
    skip,
    engine,
    async with(test, body) {
      if (skip !== false) return test.skip(skip);
      await body(await engine());
    },
  };
}

const PREFIX = 'haft-docker-';

async function startOwn(): Promise<DockerEngine> {
  await stopAbandoned();
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  writeFileSync(join(folder, 'owner'), processIdentity());
  return startDocker(folder);
}

/** Engines of test processes that were killed before they could stop them. */
async function stopAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = readOwner(folder);
    if (owner === undefined || isAlive(owner)) continue;
    await stopDocker(folder);
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
