// Owns: `haft runs retry`: the same call again, through the pipeline.
// Refuses: to execute what succeeded: its result answers.
import { fail } from '../../../contract/errors.ts';
import type { Command } from '../command.ts';
import { findRun, shortRun } from '../find-run.ts';
import { BACKEND_FLAG, runPlace } from '../run-place.ts';
import { attemptToWire, endOf, runToWire } from '../run-view.ts';

export const command: Command = {
  summary: 'Make the call of a run again',
  usage: 'RUN',
  description:
    'Policy decides it as it decides any call. A run that succeeded is answered by its result; one that failed or was cancelled is attempted again. Where the tool, its policy or its image changed since, it is another run, and that is said. Ctrl-C cancels it.',
  options: BACKEND_FLAG,
  examples: ['haft runs retry run_3fa1'],
  positionals: [1, 1],
  async run({ runtime, positionals, flags, io, json }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, positionals[0]!);
    const before = (await runs.attempts(runId)).length;
    const run = await runs.retry(runId, { signal: io.signal, ...runPlace(flags) });
    const attempts = await runs.attempts(run.runId);
    const newest = attempts.at(-1);
    const isOther = run.runId !== runId;
    if (json) {
      const attempt = newest ? attemptToWire(newest) : null;
      io.out(
        `${JSON.stringify({ ...runToWire(run), replayed: !isOther && attempts.length === before, attempt })}\n`,
      );
      return 0;
    }
    if (isOther)
      io.err(
        `haft: the same call is another run now, ${shortRun(run.runId)}; haft runs explain ${shortRun(runId)} ${shortRun(run.runId)} says why\n`,
      );
    if (!newest) throw fail('run.state', `Cannot retry ${shortRun(runId)}: it was never attempted`);
    const replayed = !isOther && attempts.length === before;
    io.out(
      `${run.runId}  ${replayed ? 'answered by its result' : `attempt ${newest.number} ${endOf(newest)}`}\n`,
    );
    return 0;
  },
};
