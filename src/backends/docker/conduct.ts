// Owns: one attempt from wherever it stands to its end: begun, attended, judged, recorded, and only then removed.
// Refuses: to remove a container before its end is durable, and to change an end that somebody has recorded.
import { ATTEMPT_WORDS } from '../../contract/attempt-words.ts';
import { type Attempt, type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { readJson, writeOnce } from '../write-once.ts';
import { attemptFiles, recordEnd } from './attempt-folder.ts';
import { attend, type Kill } from './attend.ts';
import { begin } from './begin.ts';
import { killContainer, removeContainer } from './container.ts';
import { containerName, type Site } from './container-spec.ts';
import type { ResolvedOptions } from './docker-options.ts';
import type { EngineApi } from './engine-api.ts';
import type { Readers } from './readers.ts';
import { endOfTrouble, patiently } from './trouble.ts';
import { verdict } from './verdict.ts';

export interface Conduct {
  /** Settles when the attempt has begun, or has ended without. */
  readonly begun: Promise<unknown>;
  /** Rejects only when the backend is closed first. */
  readonly ended: Promise<AttemptEnd>;
  cancel(): Promise<void>;
}

export interface Desk {
  readonly api: EngineApi;
  readonly options: ResolvedOptions;
  readonly closing: AbortSignal;
  readonly readers: Readers;
  /** Is told of the removal, so that the backend can wait for it. */
  onRemoving(removal: Promise<void>): void;
}

export function conduct(desk: Desk, attempt: Attempt, site: Site): Conduct {
  const { api, options, closing } = desk;
  const files = attemptFiles(attempt.folder);
  const name = containerName(attempt.id);
  const patience = <T>(action: () => Promise<T>) => patiently(action, { ms: options.patienceMs, closing });
  const isCancelled = async () => (await readJson(files.cancel)) !== undefined;
  let killedFor: Kill | undefined;
  let started = false;
  const kill = async (why: Kill) => {
    killedFor ??= why;
    if (started) await patience(() => killContainer(api, name));
  };

  const beginning = patience(() => begin(api, attempt, options, site, isCancelled));
  const decide = async (): Promise<AttemptEnd> => {
    try {
      const begun = await beginning;
      if (!begun) return CANCELLED;
      started = true;
      if (killedFor) await kill(killedFor);
      const { startedMs } = begun;
      const seen = await attend({
        api,
        attempt,
        name,
        files,
        startedMs,
        logBytes: options.logBytes,
        patiently: patience,
        kill,
      });
      // Whoever removed it has recorded its end; or it was removed by somebody else.
      if (!seen) return (await readJson<AttemptEnd>(files.end)) ?? VANISHED;
      const why = killedFor ?? seen.overLog ?? ((await isCancelled()) ? asKill(CANCELLED) : undefined);
      const ended = seen.state.exitCode !== KILLED && why?.cause === 'cancelled';
      return verdict({ ...seen, user: site.user, killedFor: ended ? undefined : why });
    } catch (thrown) {
      if (closing.aborted) throw thrown;
      return endOfTrouble(thrown, started);
    }
  };

  const conclude = async (): Promise<AttemptEnd> => {
    const end = await decide();
    try {
      const recorded = await recordEnd(attempt.folder, end);
      const removal = desk.readers.done(attempt.id).then(() => removeContainer(api, name));
      desk.onRemoving(removal.then(ignore, ignore));
      return recorded;
    } catch (thrown) {
      // The container stays: it is all that is left to tell a later process.
      return endOfTrouble(thrown, started);
    }
  };

  const ended = conclude();
  ended.catch(ignore);
  return {
    begun: beginning.catch(ignore),
    ended,
    async cancel() {
      if ((await readJson(files.end)) !== undefined) return;
      await writeOnce(files.cancel, {});
      await kill(asKill(CANCELLED));
      await ended;
    },
  };
}

/** SIGKILL, as nobody inside can send it. */
const KILLED = 137;
const CANCELLED = failedEnd('cancelled', ATTEMPT_WORDS.cancelled);
const VANISHED = failedEnd(
  'lost',
  'Lost the attempt: somebody removed its container before its end was recorded',
);

const asKill = ({ cause, message }: AttemptEnd): Kill => ({ cause: cause!, message });
const ignore = () => {};
