// Owns: executing a run again and saying whether it made the same bytes and answered the same result.
// Refuses: to compare logs, and to change the result that is kept.

import type { CallResponse } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { AttemptRecord, RunRecord } from '../../contract/run.ts';
import type { RunData, RunVerification } from '../../contract/runs.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
import { resultDigest } from '../result-digest.ts';
import { explainRuns } from './explain-runs.ts';
import type { RunSite } from './run-site.ts';

export async function verifyRun(
  site: RunSite,
  run: RunRecord,
  callAgain: (run: RunRecord) => Promise<CallResponse>,
): Promise<RunVerification> {
  const { runId } = run;
  const before = (await site.store.attempts(runId)).findLast(
    ({ purpose, state }) => purpose === 'run' && state === 'succeeded',
  );
  if (!before) throw fail('run.state', `Cannot verify the run ${runId}: it has not succeeded`);
  const response = await callAgain(run);
  if (response.runId !== runId)
    throw fail(
      'run.differs',
      `Cannot verify the run ${runId}: the same call is another run now, ${response.runId}; explain says why`,
      {
        run_id: response.runId ?? null,
      },
    );
  const again = (await site.store.attempts(runId)).findLast(
    ({ purpose, state }) => purpose === 'verify' && state === 'succeeded',
  );
  if (!again)
    throw fail(
      'run.attempt_lost',
      `Cannot verify the run ${runId}: what was executed again is not in the store`,
    );
  const [recorded, seen] = [outputsOf(before), outputsOf(again)];
  const outputs = [...new Set([...recorded.keys(), ...seen.keys()])].sort().map((role) => {
    const [one, other] = [recorded.get(role) ?? null, seen.get(role) ?? null];
    return { role, recorded: one, seen: other, same: one === other };
  });
  const result = compareResults(run.result?.data, response.data);
  const identical = result.same && outputs.every(({ same }) => same);
  return { runId, attemptId: again.id, identical, outputs, result };
}

const MOST_PATHS = 10;

/** What a run answers is `result` and its outputs; the log among those is another one each time. */
function compareResults(kept: unknown, seen: unknown): RunVerification['result'] {
  const [a, b] = [kept, seen].map((data) => (data as Partial<RunData> | null | undefined)?.result ?? null);
  const [recorded, now] = [a, b].map((result) => resultDigest(result) ?? null);
  const same = recorded !== null && recorded === now;
  const paths = same ? [] : explainRuns({ result: a as Json }, { result: b as Json }).map(({ path }) => path);
  const below = paths.map((path) => path.replace(/^\/result/, ''));
  return { recorded: recorded!, seen: now!, same, paths: below.slice(0, MOST_PATHS) };
}

const outputsOf = ({ outputs }: AttemptRecord) =>
  new Map(outputs.filter(({ role }) => role !== LOG_ROLE).map(({ role, artifact }) => [role, artifact]));
