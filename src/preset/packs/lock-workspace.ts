// Owns: haft.lock of a workspace: what its tools are now beside what was accepted, and accepting that.
// Refuses: to accept anything else than what was shown.
import { sha256Hex } from '../../base/digest.ts';
import { fail } from '../../contract/errors.ts';
import type { LockFile } from '../../contract/lock.ts';
import type { LockReport as WholeReport } from '../../contract/operation-handles.ts';
import type { OpenPack } from '../../contract/runtime.ts';
import { compareLock } from '../../loader/lock/compare-lock.ts';
import { readLockFile, renderLock, writeLockFile } from '../../loader/lock/lock-file.ts';
import { pinPacks, replacePack } from '../../loader/lock/pin-tools.ts';
import { createDefaultRuntime } from '../default.ts';
import { localPerson, recordManagement } from '../record-management.ts';
import { keepLockTrust } from '../trust/trust.ts';

/**
 * `look` writes nothing. `add` takes over packs that nobody locked yet, and nothing else. `accept` takes over all that
 * differs. `frozen` writes nothing, and nothing may differ.
 */
export type LockStep = 'look' | 'add' | 'accept' | 'frozen';

/** Without its lines for people: `tools.lock` adds them. */
export type LockReport = Omit<WholeReport, 'lines'>;

export interface LockOptions {
  /** The `digest` of the report that a person saw. `accept` refuses where it is another by now. */
  readonly shown?: string | undefined;
  /** Packs that speak for themselves, where a server that is started only to be asked would say something else. */
  readonly live?: readonly OpenPack[];
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Who asks, for the audit; by default the account that runs this process. */
  readonly by?: string;
}

/** Asks every server for its tools anew. Fails where one is not there: its tools must not look as if they were gone. */
export async function lockWorkspace(
  workspace: string,
  step: LockStep,
  { shown, live = [], onWarning = () => {}, by = localPerson() }: LockOptions = {},
): Promise<LockReport> {
  const accepted = readLockFile(workspace);
  const { lock: asked, unpinned } = await currentLock(workspace, onWarning);
  const current = live.reduce(
    (lock, pack) => replacePack(lock, pack.installation.name, pinPacks([pack])),
    asked,
  );
  const digest = sha256Hex(renderLock(current));
  if (step === 'accept' && shown !== undefined && shown !== digest)
    throw fail('file.conflict', 'Cannot accept the tools: they changed once more since they were shown', {
      digest,
    });
  const drifts = compareLock(accepted ?? NOTHING, current);
  const settled = drifts.every(({ state }) => state === 'unlocked') || step === 'accept';
  const written = (step === 'add' || step === 'accept') && settled && writeLockFile(workspace, current);
  if (written) {
    keepLockTrust(workspace);
    const tools = drifts.flatMap(({ tool }) => tool ?? []);
    const facts = { step, digest, changed: tools.length, tools: tools.slice(0, SHOWN_TOOLS) };
    await recordManagement(workspace, { action: 'haft tools lock', by, facts });
  }
  const isEmpty = Object.keys(current.packs).length === 0;
  return {
    ok: step === 'frozen' ? drifts.length === 0 && (accepted !== undefined || isEmpty) : settled,
    written,
    drifts,
    digest,
    packs: Object.keys(current.packs).length,
    tools: Object.keys(current.tools).length,
    unpinned,
  };
}

/** How many of the tools that changed are named in the audit; the digest is of all. */
const SHOWN_TOOLS = 100;

const NOTHING: LockFile = { version: 1, packs: {}, tools: {} };

async function currentLock(
  workspace: string,
  onWarning: (message: string) => void,
): Promise<{ readonly lock: LockFile; readonly unpinned: LockReport['unpinned'] }> {
  const runtime = await createDefaultRuntime({ workspace, lock: 'ignore', freshPacks: true, onWarning });
  try {
    const packs = runtime.installations.all();
    const unpinned = packs.flatMap(({ installation: { name: pack }, unpinned: some = [] }) =>
      some.map((one) => ({ pack, ...one })),
    );
    return { lock: pinPacks(packs), unpinned };
  } finally {
    await runtime.close();
  }
}
