// Owns: what the parts of the run engine share: their site, a backend by its name, and how this process goes away from attempts.
// Refuses: work.
import type { Backend } from '../../contract/backend.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { ReplaySource } from '../../contract/replay.ts';
import type { RunStore } from '../../contract/run-store.ts';
import type { RunParts } from '../../contract/runs.ts';
import type { Clock, NewId } from '../../contract/runtime.ts';

export interface RunSite {
  readonly store: RunStore;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Loaded with the first run. */
  parts(): Promise<RunParts>;
  readonly replay: Pick<ReplaySource, 'find'>;
  /** The policy that a run's key names by its hash; undefined where it is not kept. */
  policyOf?(hash: string): Promise<Json | undefined>;
  /** Undefined where nothing was run. */
  loaded(): RunParts | undefined;
  /** Waits, for backing off and for polling. By default real time. */
  pause?(ms: number): Promise<void>;
}

export async function backendOf(site: RunSite, name: string): Promise<Backend> {
  const { backends } = await site.parts();
  const found = backends.find((backend) => backend.name === name);
  if (found) return found;
  const there = backends.map((backend) => backend.name).join(', ') || 'none';
  throw fail('run.infrastructure', `Cannot run on "${name}": the backends of this host are ${there}`);
}

export const pauseOf = (site: RunSite): ((ms: number) => Promise<void>) =>
  site.pause ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));

export const releaseReason = (): Failure & { readonly released: true } =>
  Object.assign(fail('run.cancelled', 'Stopped following the run: this process ends, and the run goes on'), {
    released: true as const,
  });

export const isRelease = (reason: unknown): boolean =>
  typeof reason === 'object' &&
  reason !== null &&
  (reason as { readonly released?: unknown }).released === true;
