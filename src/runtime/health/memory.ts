// Owns: what one host leaves to the next of what it saw.
// Refuses: to be the truth: whoever remembers something bad looks once more before it believes it.
import type { HealthSubject } from '../../contract/health.ts';
import type { HealthState } from './judge.ts';

export interface HealthMemory {
  recall(subject: HealthSubject): Remembered | undefined;
  keep(subject: HealthSubject, seen: Remembered): void;
}

export interface Remembered {
  readonly state: HealthState;
  readonly checkedTs: number;
}

/** What is older says nothing any more. */
export const REMEMBERED_MS = 10 * 60_000;

/** That all is well need not be told to anybody. */
export const isWorthKeeping = (before: HealthState, now: HealthState): boolean =>
  isTrouble(before) || isTrouble(now);

const isTrouble = ({ failures, recovering, status }: HealthState): boolean =>
  failures > 0 || recovering || status === 'degraded';
