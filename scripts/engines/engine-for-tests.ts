// Owns: a private engine for the tests of one process: started when first asked for, stopped after the last test.
// Refuses: to hide that there is none: a test that cannot have an engine is skipped, with what would help.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { isAlive, processIdentity } from '../../src/stores/process-identity.ts';

/** What tells one engine from another. */
export interface EngineKind<Engine> {
  /** Opens the name of every folder below the temporary one that holds such an engine. */
  readonly prefix: string;
  /** Why none can be started here, in words; undefined when one can. */
  unavailable(): string | undefined;
  start(folder: string): Promise<Engine>;
  /** Ends the engine that whatever process started below the folder. */
  stop(folder: string): Promise<void>;
}

export interface EngineForTests<Engine> {
  /** For `describe(title, { skip })`. */
  readonly skip: string | false;
  engine(): Promise<Engine>;
}

/** Call it while a test file loads: it adds a hook that stops the engine. */
export function engineForTests<Engine>(kind: EngineKind<Engine>): EngineForTests<Engine> {
  let folder: string | undefined;
  let started: Promise<Engine> | undefined;
  const start = async () => {
    await stopAbandoned(kind);
    folder = mkdtempSync(join(tmpdir(), kind.prefix));
    writeFileSync(join(folder, 'owner'), processIdentity());
    return kind.start(folder);
  };
  after(async () => {
    await started?.catch(() => {});
    if (folder !== undefined) await remove(kind, folder);
  });
  return { skip: kind.unavailable() ?? false, engine: () => (started ??= start()) };
}

/** Engines of test processes that were killed before they could stop them. */
async function stopAbandoned<Engine>(kind: EngineKind<Engine>): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(kind.prefix)) continue;
    const folder = join(tmpdir(), name);
    const owner = readOwner(folder);
    if (owner !== undefined && !isAlive(owner)) await remove(kind, folder);
  }
}

async function remove<Engine>(kind: EngineKind<Engine>, folder: string): Promise<void> {
  await kind.stop(folder);
  rmSync(folder, { recursive: true, force: true });
}

const readOwner = (folder: string): string | undefined =>
  ignoreErrors(() => readFileSync(join(folder, 'owner'), 'utf8'));
