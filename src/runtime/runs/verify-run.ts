// Owns: executing a run again and saying whether it made the same bytes and answered the same result.
// Refuses: to compare logs, and to change the result that is kept.
import type { CallResponse } from '../../contract/envelope.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { AttemptRecord, RunRecord } from '../../contract/run.ts';
import type { RunData, RunVerification } from '../../contract/runs.ts';
import type { CallOptions, NamedRun } from '../../contract/runtime.ts';
import { LOG_ROLE } from '../../contract/toolpack.ts';
import { resultDigest } from '../identity.ts';
import { explainRuns } from './explain-runs.ts';
import type { RunSite } from './run-site.ts';

export async function verifyRun(
  site: RunSite,
  run: RunRecord,
  callAgain: (run: RunRecord, onNamed: NonNullable<CallOptions['onNamed']>) => Promise<CallResponse>,
): Promise<RunVerification> {
  const { runId } = run;
  const before = (await site.store.attempts(runId)).findLast(
    ({ purpose, state }) => purpose === 'run' && state === 'succeeded',
  );
  if (!before) throw fail('run.state', `Cannot verify the run ${runId}: it has not succeeded`);
  const response = await callAgain(run, async (now) => {
    if (now?.runId !== runId) throw await changed(site, run, now);
  });
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

/** Before anything is executed: what a run's id stands for is no longer what the call would be made of. */
async function changed(site: RunSite, run: RunRecord, now: NamedRun | undefined): Promise<Failure> {
  const { runId, tool } = run;
  const told = `Cannot verify the run ${runId}`;
  if (!now)
    return fail('run.changed', `${told}: "${tool}" makes no runs any more. Its result is kept as it is`);
  const policy: Json = JSON.parse(Buffer.from(now.policy()).toString('utf8'));
  const differences = explainRuns(await withPolicy(site, run.preimage), { ...now.preimage, policy });
  const fields = [...new Set(differences.map(({ field }) => field))];
  const more = fields.length > MOST_PATHS ? `, and ${fields.length - MOST_PATHS} more` : '';
  return fail(
    'run.changed',
    `${told}: the same call is another run now; since then this changed: ${fields.slice(0, MOST_PATHS).join(', ')}${more}. ` +
      `Nothing was executed, and its result is kept. To verify it, put that back as it was; to run what there is now, "haft runs retry ${runId}"`,
    { differences: differences.slice(0, MOST_PATHS).map((one) => ({ ...one })) },
  );
}

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

/** What the policy's hash stands for is what people know; the hash alone where that is not kept. */
export async function withPolicy(site: RunSite, preimage: JsonObject): Promise<JsonObject> {
  const policy = await site.policyOf?.(String(preimage.policyHash));
  return policy === undefined ? preimage : { ...preimage, policy };
}
