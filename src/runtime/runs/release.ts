// Owns: the reason with which this process goes away from attempts that can go on without it.
// Refuses: to be a cancellation: what is released is neither ended nor written down.
import { type Failure, fail } from '../../contract/errors.ts';

export const releaseReason = (): Failure & { readonly released: true } =>
  Object.assign(fail('run.cancelled', 'Stopped following the run: this process ends, and the run goes on'), {
    released: true as const,
  });

export const isRelease = (reason: unknown): boolean =>
  typeof reason === 'object' &&
  reason !== null &&
  (reason as { readonly released?: unknown }).released === true;
