// Owns: gathering what a bundle says about a run from where it is kept: runs, attempts, audit, the kept policy.
// Refuses: a run without a result, and one that no row of the audit says succeeded.
import type { BundleRun } from '../../contract/bundle.ts';
import { fail } from '../../contract/errors.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import type { RunRecord } from '../../contract/run.ts';
import type { RuntimeRuns } from '../../contract/runs.ts';
import type { AuditStore } from '../../contract/store.ts';
import { resultDigest } from '../result-digest.ts';
import { readPolicy } from './keep-policy.ts';

export interface BundleSite {
  readonly runs: Pick<RuntimeRuns, 'get' | 'attempts'>;
  readonly audit: Pick<AuditStore, 'rows'>;
  readonly objects: Pick<ObjectStore, 'get'>;
}

export async function gatherRun(runId: string, { runs, audit, objects }: BundleSite): Promise<BundleRun> {
  const run = await runs.get(runId);
  if (!run.result) throw fail('run.state', `Cannot export ${runId}: it is "${run.state}" and has no result`);
  const { callId, data } = run.result;
  const attempts = await runs.attempts(runId);
  const attempt = attempts.findLast(
    (one) => one.purpose === 'run' && one.state === 'succeeded' && one.callId === callId,
  );
  return {
    runId,
    preimage: run.preimage,
    policy: await readPolicy(objects, String(run.preimage.policyHash)),
    inputs: run.plan?.inputs.map(({ role, artifact }) => ({ role, artifact })) ?? [],
    outputs: attempt?.outputs ?? [],
    result: data,
    auditSeq: await findRow(run, audit),
    attempt: attempt
      ? {
          id: attempt.id,
          backend: attempt.backend,
          startedTs: attempt.startedTs ?? attempt.createdTs,
          endedTs: attempt.endedTs ?? attempt.createdTs,
        }
      : null,
  };
}

/** The outcome of the call that made the result; where its process died, of the first one that was answered with it. */
async function findRow({ runId, result }: RunRecord, audit: BundleSite['audit']): Promise<number> {
  const rows = await audit.rows({ runId, outcome: 'ok' });
  const row =
    rows.find(({ callId }) => callId === result?.callId) ??
    rows.find(({ facts }) => facts?.result === resultDigest(result?.data)) ??
    rows[0];
  if (row) return row.seq;
  throw fail('run.state', `Cannot export ${runId}: no call of it was answered yet; make the call again`);
}
