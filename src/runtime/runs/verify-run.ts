// Owns: executing a run again and saying whether it made the same bytes.
// Refuses: to compare logs, and to change the result that is kept.

import type { CallResponse } from '../../contract/envelope.ts';
import { fail } from '../../contract/errors.ts';
import type { AttemptRecord, RunRecord } from '../../contract/run.ts';
import type { RunVerification } from '../../contract/runs.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
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
  return { runId, attemptId: again.id, identical: outputs.every(({ same }) => same), outputs };
}

const outputsOf = ({ outputs }: AttemptRecord) =>
  new Map(outputs.filter(({ role }) => role !== LOG_ROLE).map(({ role, artifact }) => [role, artifact]));
