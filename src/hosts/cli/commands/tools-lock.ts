// Owns: `haft tools lock`: what the tools of packs are now, beside what was accepted, and accepting it.
// Refuses: to accept a change unseen: without --accept it is shown, and haft.lock stays as it is.
import { ERRORS, fail } from '../../../contract/errors.ts';
import { describeDrift } from '../../../loader/lock/describe-drift.ts';
import { isFrozenRun } from '../../../preset/open-host.ts';
import { type LockReport, lockWorkspace } from '../../../preset/packs/lock-workspace.ts';
import type { Command, Io } from '../command.ts';

export const command: Command = {
  summary: 'Pin the tools of packs in haft.lock, or show how they differ from it',
  usage: '[--accept]',
  description:
    'Asks every server for its tools anew. Tools of packs that are not in haft.lock yet are added to it; what differs from it is shown, ' +
    'and is not callable until it is accepted. With --frozen nothing is written, and any difference fails. ' +
    'What tools run and cannot be pinned (a program of the machine, a service) is listed each time.',
  options: {
    accept: { type: 'boolean', help: 'take over what differs, after showing it' },
  },
  examples: ['haft tools lock', 'haft tools lock --accept', 'haft tools lock --frozen'],
  positionals: [0, 0],
  async run({ workspace, flags, io, json }) {
    const frozen = isFrozenRun(flags);
    if (frozen && flags.accept)
      throw fail('usage', 'Cannot use --accept while frozen: nothing may be written');
    const step = frozen ? 'frozen' : flags.accept === true ? 'accept' : 'add';
    const onWarning = (message: string) => io.err(`haft: ${message}\n`);
    const report = await lockWorkspace(workspace, step, { onWarning });
    const { ok, written, drifts, digest, unpinned } = report;
    if (json) io.out(`${JSON.stringify({ ok, written, drifts, digest, unpinned })}\n`);
    else tell(io, report, frozen);
    if (ok) return 0;
    return ERRORS[frozen ? 'lockfile.drift' : 'tool.changed'].exit;
  },
};

function tell(io: Io, { drifts, packs, tools, ok, written, unpinned }: LockReport, frozen: boolean): void {
  for (const drift of drifts) io.out(`${describeDrift(drift)}\n`);
  for (const { pack, what, why } of unpinned) io.out(`! not pinned: ${what} of pack ${pack}: ${why}\n`);
  const count = `${tools} tools of ${packs} packs`;
  const same =
    unpinned.length === 0
      ? `haft.lock is as it should be: ${count}\n`
      : `haft.lock holds these ${count}; what is not pinned may change unseen\n`;
  if (ok) io.out(written ? `Wrote haft.lock: ${count}\n` : same);
  else if (frozen) io.err('haft: the tools are not as haft.lock has them\n');
  else io.err('haft: look at what changed; haft tools lock --accept takes it over\n');
}
