// Owns: how runs and attempts look, as JSON, as cells of a table, as a sentence; how a run is named: by as much of its id as is no other's.
// Refuses: to guess between two.
import { reasonOfEnd } from '../contract/attempt-cause.ts';
import { ERRORS, fail, type Reason } from '../contract/errors.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../contract/run.ts';
import type { RuntimeRuns } from '../contract/runs.ts';
import { toWire } from '../contract/spelling.ts';

/** The names that the contract gives in snake_case; what tools and callers wrote as it is. */
export function runToWire({ plan, result, ...run }: RunRecord) {
  return {
    ...toWire(run),
    plan: plan && { ...toWire(plan), resources: toWire(plan.resources) },
    result: result && toWire(result),
  };
}

export const attemptToWire = (attempt: AttemptRecord) => toWire(attempt);

/** `0.4 s`, `2 min 5 s`, `3 h 20 min`. */
export function shownTime(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function lastedOf({ startedTs, createdTs, endedTs }: AttemptRecord): string {
  return endedTs === null ? '' : shownTime(endedTs - (startedTs ?? createdTs));
}

/** How an attempt ended, in one line. */
export function endOf(attempt: AttemptRecord): string {
  const { state, exitCode, cause, message } = attempt;
  const facts = [cause ?? '', exitCode === null ? '' : `exit code ${exitCode}`, lastedOf(attempt)].filter(
    (fact) => fact !== '',
  );
  const words = state === 'succeeded' || message === '' ? '' : `: ${message}`;
  return `${state}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}${words}`;
}

/** What the error table calls the end of an attempt that did not succeed. */
export function reasonOf({ state, failure, cause }: AttemptRecord): Reason {
  return isOpen(state) ? 'run.state' : reasonOfEnd(failure, cause);
}

/** The exit code of a command that saw it end. */
export const exitOf = (attempt: AttemptRecord): number =>
  attempt.state === 'succeeded' ? 0 : ERRORS[reasonOf(attempt)].exit;

const LONGEST = 400;

/** JSON on one line, cut where nobody would read on. */
export function shownJson(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

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
