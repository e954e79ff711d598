// Owns: how runs and attempts look: as JSON, as cells of a table, as a sentence.
// Refuses: to ask for anything; commands do.
import { reasonOfEnd } from '../contract/attempt-cause.ts';
import { ERRORS, type Reason } from '../contract/errors.ts';
import { type AttemptRecord, isOpen, type RunRecord } from '../contract/run.ts';
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
