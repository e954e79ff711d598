// Owns: what hosts can ask of runs: execute, look up, explain, retry, cancel, watch, verify, recover.
// Refuses: a second way to call a tool: whatever executes again goes through the pipeline.
import { fail } from '../../contract/errors.ts';
import type { RunRecord } from '../../contract/run.ts';
import type { RunCallOptions, RuntimeRuns } from '../../contract/runs.ts';
import type { CallOptions, Runtime } from '../../contract/runtime.ts';
import { cancelRun } from './cancel-run.ts';
import { explainRuns } from './explain-runs.ts';
import { createFlights } from './flights.ts';
import { lookAtRun } from './look-at-run.ts';
import { recoverAttempts } from './recover-attempts.ts';
import { releaseReason } from './release.ts';
import type { RunSite } from './run-site.ts';
import { submitRun } from './submit-run.ts';
import { verifyRun } from './verify-run.ts';
import { watchRun } from './watch-run.ts';
import { withPolicy } from './with-policy.ts';

export interface Runs extends RuntimeRuns {
  /** Goes away from what is only followed; calls under way go on. */
  release(): void;
  close(): Promise<void>;
}

export function createRuns(site: RunSite, call: Runtime['call']): Runs {
  const flights = createFlights(site);
  const following = new Set<Promise<unknown>>();
  const leaving = new AbortController();

  const get = async (runId: string): Promise<RunRecord> => {
    const found = await site.store.get(runId);
    if (found) return found;
    throw fail('run.unknown', `Cannot find the run "${runId.slice(0, 80)}": no run has this id`);
  };
  const callAgain = async (
    { runId, tool, args }: RunRecord,
    options: RunCallOptions,
    how: Pick<CallOptions, 'verify' | 'resume' | 'onNamed'> = {},
  ) => {
    if (!args) throw fail('run.unknown', `Cannot make the call of ${runId} again: only its result was kept`);
    const { signal, sessionId, backend } = options;
    const response = await call(
      { tool, args, ...(sessionId ? { sessionId } : {}) },
      { ...(signal ? { signal } : {}), ...(backend === undefined ? {} : { backend }), ...how },
    );
    const [error] = response.errors;
    if (error) throw fail(error.reason, error.message, error.details);
    return response;
  };
  const recover: RuntimeRuns['recover'] = ({ follow = false, runId } = {}) =>
    recoverAttempts({
      site,
      follow,
      runId,
      leaving: leaving.signal,
      resume: (run) => callAgain(run, { signal: leaving.signal }, { resume: true }),
      track(work) {
        const tracked = work.finally(() => following.delete(tracked));
        following.add(tracked);
      },
    });

  return {
    execute: flights.execute,
    get,
    attempts: async (runId) => site.store.attempts((await get(runId)).runId),
    list: (query = {}) => site.store.list(query),
    async explain(runId, otherId) {
      const a = await get(runId);
      const other =
        otherId ??
        (await site.store.list({ tool: a.tool, limit: 2 })).find((row) => row.runId !== runId)?.runId;
      if (other === undefined) return { a: runId, b: null, differences: [] };
      const b = await get(other);
      const [one, two] = await Promise.all([a, b].map(({ preimage }) => withPolicy(site, preimage)));
      return { a: runId, b: other, differences: explainRuns(one!, two!) };
    },
    async retry(runId, options = {}) {
      const { runId: done = runId } = await callAgain(await get(runId), options);
      return get(done);
    },
    cancel: async (runId) => cancelRun(site, (await get(runId)).runId),
    watch: async (runId, onLog, signal) => watchRun(site, await get(runId), onLog, signal),
    verify: async (runId, options = {}) =>
      verifyRun(site, await get(runId), (run, onNamed) => callAgain(run, options, { verify: true, onNamed })),
    recover,
    look: (runId) => lookAtRun(site, runId, { get, recover }),
    submit: (request, options) => submitRun(request, { ...options, call, leaving: leaving.signal }),
    release: () => leaving.abort(releaseReason()),
    async close() {
      await flights.close();
      await Promise.allSettled([...following]);
      await Promise.all((site.loaded()?.backends ?? []).map((backend) => backend.close()));
    },
  };
}
