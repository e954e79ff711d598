// Owns: what becomes of attempts whose process died, or that somebody wants to end: finished, lost, cancelled, followed, or left.
// Refuses: to execute anything twice, and to write an end on behalf of a process that lives; it is asked to.
import type { BackendHandle } from '../../contract/backend.ts';
import { isFailure } from '../../contract/errors.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../../contract/run.ts';
import type { RecoveredAttempt } from '../../contract/runs.ts';
import { CANCELLED, finishUnsuccessful } from './conduct-attempt.ts';
import { backendOf, type RunSite } from './run-site.ts';

interface Recovery {
  readonly site: RunSite;
  readonly follow: boolean;
  /** Only what is open of this run; no backend is asked for anything else. */
  readonly runId?: string | undefined;
  /** Makes the call again: it finds the open attempt, and goes on with it. */
  resume(run: RunRecord): Promise<unknown>;
  /** Aborts when this process goes away from what it follows. */
  readonly leaving: AbortSignal;
  /** For what goes on in the background. */
  track(work: Promise<unknown>): void;
}

/** How long an attempt that may have ended already has to say so. */
const PROMPT_MS = 200;

export async function recoverAttempts(recovery: Recovery): Promise<readonly RecoveredAttempt[]> {
  const { site, runId } = recovery;
  const found: RecoveredAttempt[] = [];
  for (const attempt of await site.store.abandoned()) {
    if (runId !== undefined && attempt.runId !== runId) continue;
    const became = await recoverOne(recovery, attempt);
    const after = await site.store.attempt(attempt.id);
    found.push({
      attemptId: attempt.id,
      runId: attempt.runId,
      became,
      ...(after?.cause ? { cause: after.cause } : {}),
    });
  }
  if (runId !== undefined) return found;
  const reaped = await reapAll(site);
  await removeFolders(site);
  return [...found, ...reaped];
}

/** A process that died just after it wrote down how an attempt ended left its folder. */
async function removeFolders(site: RunSite): Promise<void> {
  const { folders } = await site.parts();
  for (const id of await folders.list()) {
    const attempt = await site.store.attempt(id);
    if (attempt && !isOpen(attempt.state)) await folders.remove(id).catch(() => {});
  }
}

/** An engine that is not there holds nothing that could be ended now. */
async function reapAll(site: RunSite): Promise<readonly RecoveredAttempt[]> {
  const isStillOpen = async (id: string): Promise<boolean> => {
    const attempt = await site.store.attempt(id);
    return attempt !== undefined && isOpen(attempt.state);
  };
  const reaped: RecoveredAttempt[] = [];
  for (const backend of (await site.parts()).backends) {
    for (const attemptId of await backend.reap(isStillOpen).catch(() => []))
      reaped.push({ attemptId, runId: (await site.store.attempt(attemptId))?.runId ?? '', became: 'reaped' });
  }
  return reaped;
}

async function recoverOne(recovery: Recovery, attempt: AttemptRecord): Promise<RecoveredAttempt['became']> {
  const { site, follow } = recovery;
  const run = await site.store.get(attempt.runId);
  const handle = await find(site, attempt, run);
  // It may well be running.
  if (handle === 'unreachable') return 'left';
  const lose = async () => {
    await endAbandoned(site, attempt, 'lost');
    return 'lost' as const;
  };
  if (!run?.args || !handle || attempt.purpose === 'verify') return lose();
  const hasEnded = await endedWithin(handle, PROMPT_MS);
  if (!hasEnded && !follow) return 'left';
  const resumed = recovery.resume(run).then(
    () => undefined,
    () => undefined,
  );
  const settled = resumed.then(async () => {
    const after = await site.store.attempt(attempt.id);
    const isStillOpen = after !== undefined && isOpen(after.state);
    if (isStillOpen && recovery.leaving.aborted) return 'left' as const;
    // The call is another run now, or may not be made: nobody will ever ask for this one.
    if (isStillOpen) return lose();
    return after?.state === 'lost' ? ('lost' as const) : ('finished' as const);
  });
  if (hasEnded) return settled;
  recovery.track(settled);
  return 'followed';
}

async function find(site: RunSite, { id, runId, backend }: AttemptRecord, run: RunRecord | undefined) {
  if (!run?.plan) return undefined;
  const { folders } = await site.parts();
  const there = await backendOf(site, backend).catch(() => undefined);
  return there
    ?.find({ id, runId, tool: run.tool, plan: run.plan, folder: folders.at(id) })
    .catch((thrown) => {
      if (isFailure(thrown) && thrown.reason === 'run.infrastructure') return 'unreachable' as const;
      throw thrown;
    });
}

async function endedWithin(handle: BackendHandle, ms: number): Promise<boolean> {
  return handle.wait(AbortSignal.timeout(ms)).then(
    () => true,
    () => false,
  );
}

export async function cancelRun(site: RunSite, runId: string): Promise<readonly AttemptRecord[]> {
  const open = await site.store.requestCancel(runId, site.clock.now());
  const abandoned = new Set((await site.store.abandoned()).map(({ id }) => id));
  for (const attempt of open) if (abandoned.has(attempt.id)) await endAbandoned(site, attempt, 'cancelled');
  return open;
}

/** Takes over what a dead process left, ends it where it still runs, and writes that down. */
async function endAbandoned(
  site: RunSite,
  attempt: AttemptRecord,
  how: 'cancelled' | 'lost',
): Promise<boolean> {
  const adopted = await site.store.adopt(attempt.id);
  if (!adopted) return false;
  const { folders } = await site.parts();
  const plan = (await site.store.get(attempt.runId))?.plan;
  const backend = await backendOf(site, attempt.backend).catch(() => undefined);
  if (plan && backend) {
    const handle = await backend.find({
      id: attempt.id,
      runId: attempt.runId,
      plan,
      folder: folders.at(attempt.id),
    });
    await handle?.cancel();
  }
  await finishUnsuccessful(site, adopted, { ...ENDS[how], exitCode: null, observed: null });
  await folders.remove(attempt.id);
  return true;
}

const ENDS = {
  cancelled: CANCELLED,
  lost: {
    state: 'lost',
    failure: 'infrastructure',
    cause: 'lost',
    message: 'Lost the attempt: the process that conducted it died',
  },
} as const;
