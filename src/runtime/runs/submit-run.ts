// Owns: a call that goes on by itself once its run is with the engine.
// Refuses: a second way to call a tool: it is a call of the session like any other, decided, counted and audited.
import { fail } from '../../contract/errors.ts';
import type { RunSubmission, SubmitOptions, SubmittedRun } from '../../contract/runs.ts';
import type { Runtime } from '../../contract/runtime.ts';

export interface SubmitSite extends SubmitOptions {
  readonly call: Runtime['call'];
  /** Aborts when this process goes away; a run on an engine goes on then. */
  readonly leaving: AbortSignal;
}

export async function submitRun(
  { tool, args, backend, placement }: RunSubmission,
  { call, leaving, signal, sessionId, requestId }: SubmitSite,
): Promise<SubmittedRun> {
  signal.throwIfAborted();
  const giveUp = new AbortController();
  const abort = (): void => giveUp.abort(signal.reason);
  signal.addEventListener('abort', abort);
  const started = Promise.withResolvers<SubmittedRun>();
  const answered = call(
    { tool, args, sessionId, requestId },
    {
      backend,
      ...(placement ? { placement } : {}),
      signal: AbortSignal.any([leaving, giveUp.signal]),
      onStarted: ({ runId }) => started.resolve({ runId, replayed: false }),
    },
  ).then(({ errors: [error], runId, replayed = false }): SubmittedRun => {
    if (error) throw fail(error.reason, error.message, error.details);
    if (runId === undefined)
      throw fail('tool.unknown', `Cannot submit "${tool}": it is no tool of a toolpack, and makes no run`);
    return { runId, replayed };
  });
  try {
    return await Promise.race([started.promise, answered]);
  } finally {
    // From here on it is nobody's to cancel but by its run.
    signal.removeEventListener('abort', abort);
    answered.catch(() => {});
  }
}
