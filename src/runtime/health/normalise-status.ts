// Owns: what the words that adapters and services use for their health mean.
// Refuses: to take a word that it does not know for good news.
import type { Look } from './look.ts';

/** Case and surrounding spaces do not matter; what is unknown is `unhealthy`. */
export function normaliseStatus(word: unknown): Look['status'] {
  const known = typeof word === 'string' ? word.trim().toLowerCase() : '';
  return Object.hasOwn(MEANINGS, known) ? MEANINGS[known]! : 'unhealthy';
}

const MEANINGS: Readonly<Record<string, Look['status']>> = {
  ready: 'ready',
  ok: 'ready',
  up: 'ready',
  pass: 'ready',
  passing: 'ready',
  healthy: 'ready',
  serving: 'ready',
  degraded: 'degraded',
  warn: 'degraded',
  warning: 'degraded',
  partial: 'degraded',
};
