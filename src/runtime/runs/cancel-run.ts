// Owns: ending what is under way of a run, whoever conducts it.
// Refuses: to write an end on behalf of a process that lives; it is asked to.
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import type { AttemptRecord } from '../../contract/run.ts';
import { finishUnsuccessful } from './conduct-attempt.ts';
import { backendOf, type RunSite } from './run-site.ts';

export async function cancelRun(site: RunSite, runId: string): Promise<readonly AttemptRecord[]> {
  const open = await site.store.requestCancel(runId, site.clock.now());
  const abandoned = new Set((await site.store.abandoned()).map(({ id }) => id));
  for (const attempt of open) if (abandoned.has(attempt.id)) await endAbandoned(site, attempt, 'cancelled');
  return open;
}

/** Takes over what a dead process left, ends it where it still runs, and writes that down. */
export async function endAbandoned(
  site: RunSite,
  attempt: AttemptRecord,
  how: 'cancelled' | 'lost',
): Promise<boolean> {
  const adopted = await site.store.adopt(attempt.id);
  if (!adopted) return false;
  const { folders } = await site.parts();
  const plan = (await site.store.get(attempt.runId))?.plan;
  const backend = await backendOf(site, attempt.backend).catch(() => undefined);
  if (plan && backend) {
    const handle = await backend.find({
      id: attempt.id,
      runId: attempt.runId,
      plan,
      folder: folders.at(attempt.id),
    });
    await handle?.cancel();
  }
  await finishUnsuccessful(site, adopted, { ...ENDS[how], exitCode: null, observed: null });
  await folders.remove(attempt.id);
  return true;
}

const ENDS = {
  cancelled: {
    state: 'cancelled',
    failure: 'cancelled',
    cause: 'cancelled',
    message: ATTEMPT_WORDS.cancelled,
  },
  lost: {
    state: 'lost',
    failure: 'infrastructure',
    cause: 'lost',
    message: 'Lost the attempt: the process that conducted it died',
  },
} as const;
