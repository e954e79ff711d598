// Owns: bringing an attempt's container from wherever it stands to running, once, whoever tries and however often.
// Refuses: to start what was started before. The engine would: it starts what has ended again.
import type { Attempt } from '../../contract/backend.ts';
import { armFolder } from './attempt-folder.ts';
import { createContainer, inspectContainer, startContainer } from './container.ts';
import { containerName, containerSpec, type Site } from './container-spec.ts';
import type { ResolvedOptions } from './docker-options.ts';
import type { EngineApi } from './engine-api.ts';

export interface Begun {
  /** Milliseconds since 1970. */
  readonly startedMs: number;
}

/**
 * Safe to repeat: a name is taken once, and only what was created and never started is started. Should the container have
 * run between the look and the start, its entry finds that the attempt began before, and does not begin it again.
 * Undefined when `unwanted` said so in time.
 */
export async function begin(
  api: EngineApi,
  attempt: Attempt,
  options: ResolvedOptions,
  site: Site,
  unwanted: () => Promise<boolean>,
): Promise<Begun | undefined> {
  const name = containerName(attempt.id);
  const state = await inspectContainer(api, name);
  if (state && state.phase !== 'created') return { startedMs: state.startedMs };
  if (await unwanted()) return undefined;
  if (!state) {
    await armFolder(attempt.folder, site.user);
    const isNew = await createContainer(api, name, containerSpec(attempt, options, site));
    // Somebody else was faster: what they made may have ended by now.
    if (!isNew) return begin(api, attempt, options, site, unwanted);
  }
  await startContainer(api, name);
  return { startedMs: Date.now() };
}
