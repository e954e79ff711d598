// Owns: `haft runs cancel`: ending what is under way of a run, whichever process conducts it.
// Refuses: to touch what has ended.
import { isOpen } from '../../../contract/run.ts';
import type { RuntimeRuns } from '../../../contract/runs.ts';
import { localPerson, recordManagement } from '../../../preset/record-management.ts';
import type { Command } from '../command.ts';
import { findRun, shortRun } from '../find-run.ts';
import { attemptToWire, endOf } from '../run-view.ts';

/** For how long the end is waited for; it comes by itself afterwards. */
const PATIENCE_MS = 30_000;
const LOOK_MS = 100;

export const command: Command = {
  summary: 'End what is under way of a run',
  usage: 'RUN',
  description:
    'The program, the container or the job is ended with all that it started. What a run had as its result stays.',
  examples: ['haft runs cancel run_3fa1'],
  positionals: [1, 1],
  async run({ runtime, positionals, io, json }) {
    const { runs, audit, workspace } = await runtime();
    const runId = await findRun(runs, positionals[0]!);
    const asked = await runs.cancel(runId);
    const ids = new Set(asked.map(({ id }) => id));
    if (ids.size > 0) {
      const act = {
        action: 'haft runs cancel',
        by: localPerson(),
        facts: { run_id: runId, attempts: [...ids] },
      };
      await recordManagement(workspace, act, audit);
    }
    const ended = await untilEnded(runs, runId, ids, io.signal);
    if (json) io.out(`${JSON.stringify({ run_id: runId, attempts: ended.map(attemptToWire) })}\n`);
    else if (ended.length === 0) io.out(`Nothing of ${shortRun(runId)} is under way.\n`);
    for (const attempt of json ? [] : ended)
      io.out(
        `attempt ${attempt.number} ${isOpen(attempt.state) ? 'was asked to end, and has not yet' : endOf(attempt)}\n`,
      );
    return 0;
  },
};

async function untilEnded(runs: RuntimeRuns, runId: string, ids: ReadonlySet<string>, signal: AbortSignal) {
  for (let waited = 0; ; waited += LOOK_MS) {
    const attempts = (await runs.attempts(runId)).filter(({ id }) => ids.has(id));
    if (!attempts.some(({ state }) => isOpen(state)) || waited > PATIENCE_MS || signal.aborted)
      return attempts;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
