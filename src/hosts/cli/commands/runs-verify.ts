// Owns: `haft runs verify`: a run executed again, and whether it made the same bytes and answered the same.
// Refuses: to change the result that is kept, and to compare logs.
import { ERRORS } from '../../../contract/errors.ts';
import { toWire } from '../../../contract/spelling.ts';
import { describeError, table } from '../../../contract/terminal-text.ts';
import type { Command } from '../command.ts';
import { findRun } from '../find-run.ts';
import { BACKEND_FLAG, runPlace } from '../run-place.ts';

export const command: Command = {
  summary: 'Execute a run again and compare every output and the result',
  usage: 'RUN',
  description:
    'The result that is kept stays as it is, whatever comes out. The exit code is 0 where all outputs and what the tool answered are identical, and 1 where something is not. Where the toolpack, an input or a limit changed since, nothing is executed: what changed is named, and the exit code is 2.',
  options: BACKEND_FLAG,
  examples: ['haft runs verify run_3fa1', 'haft runs verify 3fa1 --backend slurm --json'],
  positionals: [1, 1],
  async run({ runtime, positionals, flags, io, json }) {
    const { runs } = await runtime();
    const runId = await findRun(runs, positionals[0]!);
    if (io.tty && !json) io.err('haft: executing it again; Ctrl-C cancels that\n');
    const verification = await runs.verify(runId, { signal: io.signal, ...runPlace(flags) });
    const { identical, outputs, result } = verification;
    const exit = identical ? 0 : ERRORS['run.differs'].exit;
    if (json) {
      io.out(`${JSON.stringify(toWire(verification))}\n`);
      return exit;
    }
    io.out(
      table(
        [...outputs, { role: '(result)', ...result }].map(({ role, recorded, same }) => [
          role,
          same ? 'identical' : 'differs',
          recorded ?? '-',
        ]),
      ),
    );
    const differing = [
      ...outputs.filter(({ same }) => !same).map(({ role }) => `"${role}"`),
      ...(result.same ? [] : [`result (at ${result.paths.map((path) => `"${path}"`).join(', ')})`]),
    ];
    if (!identical)
      io.err(
        describeError({
          ...ERRORS['run.differs'],
          reason: 'run.differs',
          message: `Executed again, ${runId} made another ${differing.join(', ')}: the tool is not deterministic, or the machine changed`,
        }),
      );
    return exit;
  },
};
