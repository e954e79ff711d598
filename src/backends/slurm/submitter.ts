// Owns: how many sbatch run at once, and the pause of all of them while the cluster takes no more.
// Refuses: to ask again by itself; whoever has something to submit looks for its job first.
import type { SlurmClient, Submission } from './slurm-client.ts';

export type Submitter = (options: readonly string[], script: string) => Promise<Submission>;

export interface SubmitterOptions {
  readonly client: Pick<SlurmClient, 'submit'>;
  readonly alert: (message: string) => void;
  readonly concurrency?: number;
  readonly now?: () => number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** While paused it answers `wait` at once. After a pause one is let through to try. */
export function createSubmitter({
  client,
  alert,
  concurrency = 4,
  now = Date.now,
}: SubmitterOptions): Submitter {
  const waiting: (() => void)[] = [];
  let free = concurrency;
  let pauseMs = 0;
  let pausedUntil = 0;

  const enter = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((go) => waiting.push(go));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };

  const ask: Submitter = async (options, script) => {
    if (now() < pausedUntil) return { kind: 'wait', words: 'the cluster takes no more jobs for now' };
    // The next one waits for what this one finds out.
    if (pauseMs > 0) pausedUntil = now() + pauseMs;
    const answer = await client.submit(options, script).catch(toSubmission);
    if (answer.kind === 'wait') {
      if (pauseMs === 0) alert(`Slurm takes no more jobs for now: ${answer.words}`);
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
      pausedUntil = now() + pauseMs;
    } else if (answer.kind === 'submitted') {
      pauseMs = 0;
      pausedUntil = 0;
    }
    return answer;
  };

  return async (options, script) => {
    await enter();
    try {
      return await ask(options, script);
    } finally {
      leave();
    }
  };
}

/** A command that does not exist will not appear by waiting; anything else may have submitted. */
function toSubmission(thrown: unknown): Submission {
  const { message, cause } = thrown as Error & { cause?: { code?: string } };
  return cause?.code === 'ENOENT'
    ? { kind: 'refused', cause: 'infrastructure.engine', words: message }
    : { kind: 'unknown', words: message };
}
