// Owns: `ctx.runs`: the runs of the workspace as one call may reach them.
// Refuses: tools that make no run, the end of a run that another session began, and a second way to call a tool.
import { reasonOfEnd } from '../../contract/attempt-cause.ts';
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import type { ReplaySource } from '../../contract/replay.ts';
import { type AttemptRecord, isOpen } from '../../contract/run.ts';
import type { RunData, RunLook, RuntimeRuns } from '../../contract/runs.ts';
import type { RunsHandle } from '../../contract/runs-handle.ts';
import type { AnyTool } from '../../contract/tool.ts';

export interface RunsHandleSite {
  readonly runs: RuntimeRuns;
  readonly replay: Pick<ReplaySource, 'find'>;
  tool(id: string): Pick<AnyTool, 'prepare'> | undefined;
  /** Of calls that name none. */
  readonly defaultSession: string;
}

type Scope = Pick<CallScope, 'admit' | 'signal'>;
type Call = { readonly sessionId: string; readonly requestId: string };

export type RunsHandleMaker = (scope: Scope, call: Call) => RunsHandle;

/** For how long a call waits for the end that it asked for; it comes by itself afterwards. */
const PATIENCE_MS = 30_000;
const LOOK_MS = 100;

export function createRunsHandles(site: RunsHandleSite): RunsHandleMaker {
  const { runs } = site;
  return (scope, { sessionId, requestId }) => ({
    async submit(request) {
      const { tool, backend } = request;
      scope.admit({ kind: 'run.submit', tool, backend });
      refuseOtherTools(tool, site.tool(tool));
      const { runId, replayed } = await runs.submit(request, { sessionId, requestId, signal: scope.signal });
      return { ...(await runs.look(runId)), replayed };
    },
    async look(runId) {
      scope.admit({ kind: 'run.read', run: runId });
      return runs.look(runId);
    },
    async collect(runId) {
      scope.admit({ kind: 'run.read', run: runId });
      refuseUnfinished(await runs.look(runId));
      const hit = await site.replay.find(runId);
      if (hit) return hit.data as RunData;
      throw fail(
        'object.missing',
        `Cannot collect ${runId}: an output is gone or is not what it was; make the same call again`,
      );
    },
    async cancel(runId) {
      scope.admit({ kind: 'run.cancel', run: runId });
      const open = await ownAttempts(runs, runId, sessionId === site.defaultSession ? null : sessionId);
      if (open.length > 0) await runs.cancel(runId);
      await untilEnded(runs, runId, scope.signal);
      return runs.look(runId);
    },
  });
}

/** One that is not there is told so by its own call, with the nearest name. */
export function refuseOtherTools(id: string, known: Pick<AnyTool, 'prepare'> | undefined): void {
  if (!known || known.prepare) return;
  throw fail('usage', `Cannot submit "${id}": only tools of toolpacks make runs; call "${id}" itself`);
}

/** What is under way of the run. Throws `policy.denied` where another session began it. */
export async function ownAttempts(
  runs: Pick<RuntimeRuns, 'attempts'>,
  runId: string,
  session: string | null,
): Promise<readonly AttemptRecord[]> {
  const open = (await runs.attempts(runId)).filter(({ state }) => isOpen(state));
  if (open.every((attempt) => attempt.session === session)) return open;
  const message = `Cannot cancel ${runId}: another session began it; a person can, with "haft runs cancel"`;
  throw fail('policy.denied', message, { rule: 'session' });
}

function refuseUnfinished({ run, attempts }: RunLook): void {
  if (run.state === 'succeeded') return;
  const newest = attempts.findLast(({ purpose }) => purpose === 'run');
  const isUnderWay = !newest || isOpen(newest.state);
  const fact = isUnderWay ? 'it has not ended' : newest.message;
  const log = newest?.outputs.find(({ role }) => role === 'log');
  throw fail(
    isUnderWay ? 'run.state' : reasonOfEnd(newest.failure, newest.cause),
    `Cannot collect ${run.runId}: ${fact}`,
    { run_id: run.runId, state: run.state, ...(log ? { log: log.artifact } : {}) },
  );
}

async function untilEnded(runs: RuntimeRuns, runId: string, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS && !signal.aborted; waited += LOOK_MS) {
    if (!(await runs.attempts(runId)).some(({ state }) => isOpen(state))) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
