// Owns: how a run is named on the command line: by its id, or by as much of it as is no other run's.
// Refuses: to guess between two.
import { fail } from '../contract/errors.ts';
import type { RuntimeRuns } from '../contract/runs.ts';

const WHOLE = /^run_[0-9a-f]{64}$/;
const PART = /^(?:run_)?[0-9a-f]{0,64}$/;
/** How many of those that fit are named. */
const NAMED = 4;

export async function findRun(runs: Pick<RuntimeRuns, 'list'>, given: string): Promise<string> {
  if (WHOLE.test(given)) return given;
  const shown = given.slice(0, 80);
  if (!PART.test(given) || given === '' || given === 'run_')
    throw fail(
      'run.unknown',
      `Cannot find "${shown}": a run is named by "run_" and hex digits, the first few are enough (see haft runs list)`,
    );
  const prefix = given.startsWith('run_') ? given : `run_${given}`;
  const found = await runs.list({ prefix, limit: NAMED + 1 });
  const [only] = found;
  if (!only)
    throw fail('run.unknown', `Cannot find the run "${shown}": no id begins so (see haft runs list)`);
  if (found.length === 1) return only.runId;
  const names = found.slice(0, NAMED).map(({ runId, tool }) => `${shortRun(runId)} (${tool})`);
  const more = found.length > NAMED ? ' and more' : '';
  throw fail(
    'usage',
    `Cannot tell which run "${shown}" is: ${names.join(', ')}${more} begin so; give more digits`,
    { runs: found.slice(0, NAMED).map(({ runId }) => runId) },
  );
}

/** What a person can read and type; enough for millions of runs. */
export const shortRun = (runId: string): string => runId.slice(0, 'run_'.length + 12);
