// Owns: what a host that begins does about runs whose process died: it looks after them, and says what became of each.
// Refuses: to keep anybody waiting, and to fail a host because an engine is not there.
import { toErrorEntry } from '../contract/errors.ts';
import type { RecoveredAttempt, RuntimeRuns } from '../contract/runs.ts';

/** For hosts that stay: what still runs is followed to its end. Answers the function that ends the talking. */
export function recoverRuns(runs: Pick<RuntimeRuns, 'recover'>, say: (text: string) => void): () => void {
  let isOver = false;
  const tell = (text: string): void => {
    if (!isOver) say(text);
  };
  runs.recover({ follow: true }).then(
    (found) => {
      for (const one of found) tell(describe(one));
    },
    (thrown) => tell(`haft: ${toErrorEntry(thrown).message}\n`),
  );
  return () => {
    isOver = true;
  };
}

/** For commands that end at once: what dead processes left of these is finished, or known to be lost. Answers whether any was. */
export async function settleRuns(
  runs: Pick<RuntimeRuns, 'recover'>,
  runIds: readonly string[],
  say: (text: string) => void,
): Promise<boolean> {
  let isAny = false;
  for (const runId of runIds) {
    for (const one of await runs.recover({ runId })) {
      if (one.became === 'left') continue;
      say(describe(one));
      isAny = true;
    }
  }
  return isAny;
}

const BECAME: { readonly [B in RecoveredAttempt['became']]: string } = {
  finished: 'had ended, and its result was taken',
  lost: 'was lost; the next call of the run is a new attempt',
  followed: 'still runs, and is followed to its end',
  left: 'may still run; whoever calls the run next goes on with it',
  reaped: 'was over, and what an engine still held of it was removed',
};

function describe({ attemptId, runId, became, cause }: RecoveredAttempt): string {
  const name = `${attemptId.slice(0, 20)}…${runId === '' ? '' : ` of ${runId}`}`;
  const why = cause ? ` (${cause})` : '';
  return `haft: the attempt ${name} was in flight when its process died; it ${BECAME[became]}${why}\n`;
}
