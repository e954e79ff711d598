// Owns: for tests, the run engine over a real store, real artifacts and real folders, with a backend that does as it is told.
// Refuses: to leave anything behind, and to hold tests of its own.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAttemptFolders } from '../../backends/attempt-folders.ts';
import { newId } from '../../base/new-id.ts';
import { type Attempt, type AttemptEnd, type Backend, failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ExecutionPlan } from '../../contract/plan.ts';
import type { Conduct, RunRequest, RunTicket } from '../../contract/runs.ts';
import type { Runtime } from '../../contract/runtime.ts';
import { openArtifactStore } from '../../stores/artifacts/open-artifact-store.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { openSqliteEnvironment } from '../../stores/sqlite/environment-for-tests.ts';
import type { SqliteStore } from '../../stores/sqlite/open-sqlite-store.ts';
import { createRuns, type Runs } from './create-runs.ts';
import { createStoreReplay } from './lazy-runs.ts';
import type { RunSite } from './run-site.ts';

/** What an attempt does once it is started: by default it writes its outputs and succeeds. */
export type Script = (attempt: Attempt, nth: number, cancelled: Promise<void>) => Promise<AttemptEnd>;

export interface ScriptedBackend extends Backend {
  /** Ids of attempts that really began, in order. */
  readonly began: string[];
  readonly cancelled: string[];
  script: Script;
}

export const succeeded: AttemptEnd = {
  status: 'succeeded',
  exitCode: 0,
  message: 'fine',
  observed: { seccomp: 2 },
};

/** Writes `text` (by default the greeting of its run) to every output. */
export const writes =
  (text = 'made'): Script =>
  async ({ plan, folder }) => {
    for (const { src } of plan.outputs) {
      await mkdir(join(folder, 'out'), { recursive: true });
      await writeFile(join(folder, 'out', src), text);
    }
    await writeFile(join(folder, 'meta/log'), 'said\n');
    return succeeded;
  };

/** One for all engines of a test: what is begun stays begun, whoever asks. */
export function createScriptedBackend(): ScriptedBackend {
  const ends = new Map<string, Promise<AttemptEnd>>();
  const cancels = new Map<string, () => void>();
  const backend: ScriptedBackend = {
    name: 'scripted',
    began: [],
    cancelled: [],
    script: writes(),
    async start(attempt) {
      if (!ends.has(attempt.id)) {
        backend.began.push(attempt.id);
        const cancelled = new Promise<void>((resolve) => cancels.set(attempt.id, resolve));
        ends.set(attempt.id, backend.script(attempt, backend.began.length, cancelled));
      }
      return handleOf(attempt.id);
    },
    find: async ({ id }) => (ends.has(id) ? handleOf(id) : undefined),
    reap: async () => [],
    async close() {},
  };
  const handleOf = (id: string) => ({
    attemptId: id,
    wait: (signal: AbortSignal) =>
      new Promise<AttemptEnd>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        if (signal.aborted) reject(signal.reason);
        (ends.get(id) as Promise<AttemptEnd>).then(resolve, reject);
      }),
    async cancel() {
      backend.cancelled.push(id);
      cancels.get(id)?.();
    },
    follow: (onChunk: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => void) => {
      onChunk('stdout', Buffer.from('said\n'));
      return () => {};
    },
  });
  return backend;
}

/** Runs until it is cancelled. */
export const waits: Script = async (_attempt, _nth, cancelled) => {
  await cancelled;
  return failedEnd('cancelled', 'Cancelled the attempt');
};

export interface Engine {
  readonly runs: Runs;
  readonly store: SqliteStore;
  readonly site: RunSite;
}

export interface RunsFixture extends Engine {
  readonly backend: ScriptedBackend;
  readonly folder: string;
  readonly deadProcess: string;
  /** Another engine over the same state, as another process would have it. */
  another(process?: string): Promise<Engine>;
  folderOf(attemptId: string): boolean;
}

export async function withRuns(
  use: (fixture: RunsFixture) => Promise<void>,
  call: Runtime['call'] = () => Promise.reject(fail('internal.unexpected', 'no pipeline here')),
): Promise<void> {
  const env = await openSqliteEnvironment();
  const backend = createScriptedBackend();
  const root = join(env.folder, 'runs');
  const clock = { now: Date.now, monotonic: () => performance.now() };
  const engines: Engine[] = [];
  const make = (store: SqliteStore): Engine => {
    const objects = openObjectStore({
      folder: join(env.folder, 'objects'),
      process: env.livingProcess,
      small: store.smallObjects,
      uses: store.objectUses,
    });
    const artifacts = openArtifactStore({ objects, rows: store.artifacts, clock });
    const parts = { backends: [backend], folders: createAttemptFolders({ root, artifacts }), artifacts };
    const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(ms, 5)));
    const site: RunSite = {
      store: store.runs,
      clock,
      newId,
      parts: async () => parts,
      loaded: () => parts,
      pause,
      replay: createStoreReplay({
        runs: store.runs,
        clock,
        verify: async (id) => (await artifacts.verify(id)).state === 'ok',
      }),
    };
    const engine = { runs: createRuns(site, call), store, site };
    engines.push(engine);
    return engine;
  };
  try {
    await use({
      ...make(env.store),
      backend,
      folder: env.folder,
      deadProcess: env.deadProcess,
      another: async (process) => make(await env.reopen(process)),
      folderOf: (id) => existsSync(join(root, id)),
    });
  } finally {
    for (const { runs } of engines) await runs.close();
    await env.close();
  }
}

const PLAN: ExecutionPlan = {
  argv: ['make'],
  env: {},
  inputs: [],
  outputs: [{ role: 'stats', type: 'text/plain', label: 'Counts', src: 'stats.txt' }],
  resources: { cpus: 1, memoryBytes: 1, wallMs: 1, outputBytes: 1 },
};

/** The usual conduct of a toolpack. */
export const conducts: Conduct = async (attempt) => {
  await attempt.execute();
  for (const { role } of attempt.ticket.plan.outputs) await attempt.link(role);
  return { fine: true };
};

export function request(
  fields: Partial<RunRequest> & { readonly ticket?: RunTicket; readonly n?: number } = {},
): RunRequest {
  const { n = 1, ...rest } = fields;
  return {
    ticket: ticket(n),
    tool: 'text_stats',
    contract: 'v1',
    callId: `call_${n}`,
    args: { n },
    conduct: conducts,
    ...rest,
  };
}

export function ticket(n: number, fields: Partial<RunTicket> = {}): RunTicket {
  const params: JsonObject = { n };
  return {
    runId: `run_${String(n).repeat(64).slice(0, 64)}`,
    preimage: { tool: 'text_stats', params },
    params,
    plan: PLAN,
    carry: {},
    purpose: 'run',
    session: null,
    ...fields,
  };
}

export const never = (): AbortSignal => new AbortController().signal;
