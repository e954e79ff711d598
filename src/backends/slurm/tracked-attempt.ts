// Owns: one attempt from its intent to its end, as this process sees it. Other processes may see to the same one.
// Refuses: to trust its memory: what counts lies in the attempt's folder, where each thing can be put only once.
import { type FileHandle, open, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type Attempt, type AttemptEnd, type BackendHandle, failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { readJson, readText, writeOnce } from '../write-once.ts';
import { ageOf, attemptFiles, type Claim } from './attempt-files.ts';
import type { JobResult } from './job-script.ts';
import type { JobWatch, Watched } from './job-watch.ts';
import { type JobRow, jobState, type SlurmClient, type Submission } from './slurm-client.ts';
import { cancelledEnd, nextStep, verdictOf } from './verdict.ts';

export interface TrackedAttempt {
  /** Makes the intent durable and submits, unless an earlier process did. */
  begin(): Promise<void>;
  readonly handle: BackendHandle;
  /** Ends all waiting and following. The attempt goes on. */
  detach(): void;
}

interface Surroundings {
  readonly name: string;
  readonly bell: string;
  readonly client: Pick<SlurmClient, 'cancel'>;
  readonly watch: JobWatch;
  readonly settleMs: number;
  submit(attempt: Attempt): Promise<Submission>;
  onEnd(): void;
}

export function trackAttempt(attempt: Attempt, surroundings: Surroundings): TrackedAttempt {
  const { name, bell, client, watch, settleMs } = surroundings;
  const files = attemptFiles(attempt.folder);
  const ended = Promise.withResolvers<AttemptEnd>();
  let end: AttemptEnd | undefined;
  let claim: Claim | undefined;
  let cancelled = false;
  let noticedAt = Number.NEGATIVE_INFINITY;
  let latest: Shown | undefined;
  let scheduled = false;
  let quietSince: number | undefined;
  let urgent = false;
  let waiters = 0;
  let unwatch: (() => void) | undefined;
  const following = new Set<() => void>();
  // Nobody may be waiting when the backend is closed.
  ended.promise.catch(() => {});

  /** The first end that is recorded is the end, whoever recorded it. */
  const settle = async (candidate: AttemptEnd): Promise<void> => {
    // Whoever reads the end also finds a log, also where no job ever wrote one.
    await (await open(files.log, 'a')).close();
    await writeOnce(files.end, candidate);
    end = await readJson<AttemptEnd>(files.end);
    ended.resolve(end!);
    unwatch?.();
    surroundings.onEnd();
    await Promise.all(
      ['claimed', 'ended'].map((event) => rm(join(bell, `${name}.${event}`), { force: true })),
    );
  };

  /** False when a job holds the claim already. */
  const seal = async (candidate: AttemptEnd): Promise<boolean> => {
    if (!(await writeOnce(files.claim, { by: 'nobody', end: candidate } satisfies Claim))) return false;
    await settle(candidate);
    return true;
  };

  /** Something happened of which Slurm must be asked anew. */
  const notice = (): void => {
    noticedAt = performance.now();
    quietSince = undefined;
  };

  const submit = async (): Promise<void> => {
    await touch(files.asked);
    const answer = await surroundings.submit(attempt);
    notice();
    if (answer.kind === 'refused')
      await seal(failedEnd(answer.cause, `Cannot submit the attempt: Slurm says "${answer.words}"`));
  };

  const isRecorded = async (): Promise<boolean> => {
    const recorded = await readJson<AttemptEnd>(files.end);
    if (recorded) await settle(recorded);
    return recorded !== undefined;
  };

  /** True when the job's own words were enough for an end. */
  const judgeResult = async (result: JobResult | undefined): Promise<boolean> => {
    if (!result || result.ended === 'told') return false;
    await settle(await verdictOf(attempt, files, result));
    return true;
  };

  /** Once is enough, as long as Slurm took it. */
  const cancelJobs = async (): Promise<void> => {
    if (cancelled) return;
    await client.cancel({ name });
    cancelled = true;
  };

  const look = async (shown?: Shown): Promise<void> => {
    if (!claim) {
      claim = await readJson<Claim>(files.claim);
      if (claim) notice();
    }
    const result = await readJson<JobResult>(files.result);
    if ((await isRecorded()) || (await judgeResult(result))) return;
    const cancelAsked = (await readText(files.cancel)) !== undefined;
    if (cancelAsked && !claim && (await seal(cancelledEnd()))) return cancelJobs();
    // What happened after Slurm was asked is not in what it showed.
    if (!shown || shown.askedAt < noticedAt) return;
    if (cancelAsked && isLive(shown.rows)) await cancelJobs();
    const step = nextStep({
      rows: shown.rows,
      claim,
      result,
      cancelAsked,
      sinceAskedMs: await ageOf(files.asked),
      quietMs: quietSince === undefined ? 0 : shown.askedAt - quietSince,
      settleMs,
    });
    if (step.do === 'submit') await submit();
    if (step.do === 'seal') await seal(step.end);
    if (step.do === 'end') {
      await settle(step.end);
      if (step.leftover) await cancelJobs();
    }
  };

  const serial = inTurn();
  /** A fault of the disk or of Slurm is no end: the next turn tries again. Only the latest that Slurm showed counts. */
  const later = (shown?: Shown): void => {
    latest = shown ?? latest;
    if (scheduled) return;
    scheduled = true;
    void serial(async () => {
      scheduled = false;
      const shownLast = latest;
      latest = undefined;
      if (!end) await look(shownLast).catch(() => {});
    });
  };

  const watched: Watched = {
    name,
    get urgent() {
      return urgent;
    },
    get missingHours() {
      return quietSince === undefined ? undefined : HISTORY_HOURS;
    },
    rung: () => later(),
    shown(rows, askedAt) {
      if (askedAt >= noticedAt) quietSince = isLive(rows) ? undefined : (quietSince ?? askedAt);
      // A job that only waits has nothing new on the disk.
      if (!claim && !urgent && rows.length > 0 && rows.every(isQueued)) return;
      later({ rows, askedAt });
    },
  };

  const handle: BackendHandle = {
    attemptId: attempt.id,
    async wait(signal) {
      signal.throwIfAborted();
      if (end) return end;
      const aborted = Promise.withResolvers<never>();
      const abort = () => aborted.reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      if (waiters++ === 0) {
        later();
        unwatch = watch.add(watched);
      }
      try {
        return await Promise.race([ended.promise, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', abort);
        if (--waiters === 0) unwatch?.();
      }
    },
    async cancel() {
      await serial(async () => {
        if (end || (await isRecorded())) return;
        await writeOnce(files.cancel, {});
        urgent = true;
        await look();
        // Where Slurm does not answer it is told again with every look.
        if (!end) await cancelJobs().catch(() => {});
      });
      if (end) return;
      watch.hurry();
      await handle.wait(new AbortController().signal);
    },
    follow(onChunk) {
      const streams = Object.entries(files.streams) as ['stdout' | 'stderr', string][];
      const stop = followFiles(
        streams.map(([stream, path]) => ({ path, onChunk: (chunk) => onChunk(stream, chunk) })),
        () => end !== undefined,
      );
      following.add(stop);
      return () => {
        following.delete(stop);
        stop();
      };
    },
  };

  return {
    handle,
    detach() {
      for (const stop of following) stop();
      ended.reject(
        fail('call.outcome_unknown', 'Cannot wait for the attempt any longer: its backend was closed'),
      );
    },
    begin: once(() =>
      serial(async () => {
        if (await isRecorded()) return;
        const first = await writeOnce(files.intent, { v: 1, name, attempt });
        if (first) await submit();
      }),
    ),
  };
}

interface Shown {
  readonly rows: readonly JobRow[];
  readonly askedAt: number;
}

const isLive = (rows: readonly JobRow[]) => rows.some(({ state }) => jobState(state).phase !== 'ended');
const isQueued = ({ state }: JobRow) => jobState(state).phase === 'queued';

/** How far back the accounting is asked. */
const HISTORY_HOURS = 24 * 7;

async function touch(path: string): Promise<void> {
  const file = await open(path, 'a');
  await file.close();
  const now = new Date();
  await utimes(path, now, now);
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action().catch((thrown) => {
      done = undefined;
      throw thrown;
    });
    return done;
  };
}

/** Runs actions one after the other. */
function inTurn(): (action: () => Promise<void>) => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return (action) => {
    const next = last.then(action);
    last = next.catch(() => {});
    return next;
  };
}

const LOOK_EVERY_MS = 150;

interface Followed {
  readonly path: string;
  readonly onChunk: (chunk: Uint8Array) => void;
}

/** Ends by itself once `isWhole` was true before a last look. What it returns ends it earlier. */
function followFiles(files: readonly Followed[], isWhole: () => boolean): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const offsets = files.map(() => 0);
  const look = async (): Promise<void> => {
    const last = isWhole();
    for (const [n, { path, onChunk }] of files.entries()) {
      await readFrom(path, offsets[n]!, (chunk) => {
        if (stopped) return;
        offsets[n]! += chunk.length;
        onChunk(chunk);
      });
    }
    if (!stopped && !last) timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  };
  void look();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Nothing where the file is not there yet. */
async function readFrom(path: string, start: number, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'r');
    for (let at = start; ; ) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(65_536), 0, 65_536, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      onChunk(buffer.subarray(0, bytesRead));
    }
  } catch {
    // Not there yet, or not readable for a moment; the next look tells.
  } finally {
    await file?.close();
  }
}
