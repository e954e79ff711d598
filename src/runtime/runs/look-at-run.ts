// Owns: a run as it stands, with what its engine says of it.
// Refuses: to wait for it.
import { isOpen } from '../../contract/run.ts';
import type { RunLook, RuntimeRuns } from '../../contract/runs.ts';

import { backendOf, type RunSite } from './run-site.ts';

export async function lookAtRun(
  site: RunSite,
  runId: string,
  { get, recover }: Pick<RuntimeRuns, 'get' | 'recover'>,
): Promise<RunLook> {
  await get(runId);
  await recover({ runId });
  const attempts = await site.store.attempts(runId);
  const open = attempts.find(({ state }) => isOpen(state));
  // An engine that does not answer has nothing to say.
  const engine = open && (await backendOf(site, open.backend).catch(() => undefined));
  const job = open && (await engine?.look?.({ id: open.id }).catch(() => undefined));
  return { run: await get(runId), attempts, job: job ?? null };
}
