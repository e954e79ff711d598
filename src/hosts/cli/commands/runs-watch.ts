// Owns: `haft runs watch`: the log of a run as it is written, and how it ends.
// Refuses: to end it: Ctrl-C only stops the watching.
import { ERRORS } from '../../../contract/errors.ts';
import type { Command, Io } from '../command.ts';
import { findRun, shortRun } from '../find-run.ts';
import { attemptToWire, endOf, exitOf } from '../run-view.ts';

export const command: Command = {
  summary: 'Print the log of a run as it is written, until it ends',
  usage: 'RUN',
  description:
    'The log of its newest attempt goes to standard output, from its beginning; how it ended to standard error, and into the exit code. Ctrl-C stops watching and leaves the run going. With --json only how it ended is printed.',
  examples: ['haft runs watch run_3fa1', 'haft runs watch 3fa1 > log.txt'],
  positionals: [1, 1],
  async run({ runtime, positionals, io, json }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, positionals[0]!);
    const say = json ? () => {} : printer(io);
    if (io.tty && !json) io.err(`haft: watching ${shortRun(runId)}; Ctrl-C leaves it going\n`);
    try {
      // Where the process that conducted it is gone, this one goes on with it.
      await runs.recover({ runId, follow: true });
      const { job } = json ? { job: null } : await runs.look(runId);
      if (job) io.err(`haft: job ${job.id} is ${job.state}${job.reason ? ` (${job.reason})` : ''}\n`);
      const attempt = await runs.watch(runId, say, io.signal);
      if (json) io.out(`${JSON.stringify(attemptToWire(attempt))}\n`);
      else io.err(`haft: attempt ${attempt.number} ${endOf(attempt)}\n`);
      return exitOf(attempt);
    } catch (thrown) {
      if (!io.signal.aborted) throw thrown;
      io.err(`haft: stopped watching; the run goes on (haft runs watch ${shortRun(runId)})\n`);
      return ERRORS['time.cancelled'].exit;
    }
  },
};

/** A terminal gets text whose control characters cannot move its cursor; a pipe gets the bytes. */
function printer(io: Io): (chunk: Uint8Array) => void {
  if (!io.tty) return (chunk) => io.bytes(chunk);
  const decoder = new TextDecoder();
  return (chunk) => io.out(decoder.decode(chunk, { stream: true }));
}
