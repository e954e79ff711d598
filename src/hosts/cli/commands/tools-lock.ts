// Owns: `haft tools lock`: what the tools of packs are now, beside what was accepted, and accepting it.
// Refuses: to accept a change unseen: without --accept it is shown, and haft.lock stays as it is.
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { Drift, LockFile } from '../../../contract/lock.ts';
import { compareLock } from '../../../loader/lock/compare-lock.ts';
import { describeDrift } from '../../../loader/lock/describe-drift.ts';
import { readLockFile, writeLockFile } from '../../../loader/lock/lock-file.ts';
import { pinPacks } from '../../../loader/lock/pin-tools.ts';
import { createDefaultRuntime } from '../../../preset/default.ts';
import type { Command, Io } from '../command.ts';
import { isFrozen } from '../open-runtime.ts';

export const command: Command = {
  summary: 'Pin the tools of packs in haft.lock, or show how they differ from it',
  usage: '[--accept]',
  description:
    'Asks every server for its tools anew. Tools of packs that are not in haft.lock yet are added to it; what differs from it is shown, ' +
    'and is not callable until it is accepted. With --frozen nothing is written, and any difference fails.',
  options: {
    accept: { type: 'boolean', help: 'take over what differs, after showing it' },
  },
  examples: ['haft tools lock', 'haft tools lock --accept', 'haft tools lock --frozen'],
  positionals: [0, 0],
  async run({ workspace, flags, io, json }) {
    const frozen = flags.frozen === true || isFrozen(process.env);
    if (frozen && flags.accept)
      throw fail('usage', 'Cannot use --accept while frozen: nothing may be written');
    const accepted = readLockFile(workspace);
    const current = await currentLock(workspace, io);
    const drifts = compareLock(accepted ?? NOTHING, current);
    const settled = drifts.every(({ state }) => state === 'unlocked') || flags.accept === true;
    const written = !frozen && settled && writeLockFile(workspace, current);
    const ok = frozen ? drifts.length === 0 && (accepted !== undefined || isEmpty(current)) : settled;
    if (json) io.out(`${JSON.stringify({ ok, written, drifts })}\n`);
    else tell(io, { drifts, current, ok, written, frozen });
    if (ok) return 0;
    return ERRORS[frozen ? 'lockfile.drift' : 'tool.changed'].exit;
  },
};

const NOTHING: LockFile = { version: 1, packs: {}, tools: {} };

async function currentLock(workspace: string, io: Io): Promise<LockFile> {
  const onWarning = (message: string) => io.err(`haft: ${message}\n`);
  const runtime = await createDefaultRuntime({ workspace, lock: 'ignore', freshPacks: true, onWarning });
  try {
    return pinPacks(runtime.installations.all());
  } finally {
    await runtime.close();
  }
}

interface Told {
  readonly drifts: readonly Drift[];
  readonly current: LockFile;
  readonly ok: boolean;
  readonly written: boolean;
  readonly frozen: boolean;
}

function tell(io: Io, { drifts, current, ok, written, frozen }: Told): void {
  for (const drift of drifts) io.out(`${describeDrift(drift)}\n`);
  const count = `${Object.keys(current.tools).length} tools of ${Object.keys(current.packs).length} packs`;
  if (ok) io.out(written ? `Wrote haft.lock: ${count}\n` : `haft.lock is as it should be: ${count}\n`);
  else if (frozen) io.err('haft: the tools are not as haft.lock has them\n');
  else io.err('haft: look at what changed; haft tools lock --accept takes it over\n');
}

const isEmpty = ({ packs }: LockFile): boolean => Object.keys(packs).length === 0;
