// Owns: what it means for an attempt that the engine, or the disk that the attempt is kept on, did not do what it was asked.
// Refuses: to show paths of this machine: engines put them into their messages.
import { setTimeout as pause } from 'node:timers/promises';
import type { AttemptCause } from '../../contract/attempt-cause.ts';
import { type AttemptEnd, failedEnd } from '../../contract/backend.ts';
import { fail } from '../../contract/errors.ts';
import { isRefusal } from './container.ts';
import { isEngineTrouble } from './engine-api.ts';

/** `begun` says whether it may have been started when the engine went away. */
export function endOfTrouble(thrown: unknown, begun: boolean): AttemptEnd {
  if (isEngineTrouble(thrown)) {
    return begun || thrown.sent
      ? failedEnd('lost', 'Lost the attempt: the engine went away and did not come back')
      : failedEnd('infrastructure.engine', `Cannot run the attempt: ${UNREACHABLE}`);
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const cause = CAUSES.find(([pattern]) => pattern.test(message))?.[1] ?? 'infrastructure.engine';
  const who = isRefusal(thrown) ? 'the engine says' : 'the machine says';
  return failedEnd(cause, `Cannot run the attempt: ${who} "${withoutPaths(message)}"`);
}

const CAUSES: readonly (readonly [RegExp, AttemptCause])[] = [
  [/no such image/i, 'infrastructure.image'],
  [/no space left on device|ENOSPC/i, 'infrastructure.disk_full'],
];

const withoutPaths = (message: string) =>
  message.replaceAll(/(?<![\w.@-])\/(?!work\b)[^\s:"',]+/g, '…').slice(0, 400);

export interface Patience {
  /** How long the engine may be away. */
  readonly ms: number;
  /** Once it aborts, nothing is tried again. */
  readonly closing: AbortSignal;
}

/** Repeats an action, which must be safe to repeat, while the engine cannot be reached. */
export async function patiently<T>(action: () => Promise<T>, { ms, closing }: Patience): Promise<T> {
  const started = performance.now();
  let sent = false;
  for (let delay = 50; ; delay = Math.min(delay * 2, 1000)) {
    try {
      return await action();
    } catch (thrown) {
      if (!isEngineTrouble(thrown)) throw thrown;
      sent ||= thrown.sent;
      const waited = performance.now() + delay - started;
      if (closing.aborted || waited > (sent ? ms : Math.min(ms, UNHEARD_MS)))
        throw Object.assign(thrown, { sent });
      await pause(delay, undefined, { signal: closing }).catch(() => {});
    }
  }
}

/** An engine that has heard nothing yet may be starting up. It is not waited for as one that holds an attempt is. */
const UNHEARD_MS = 3000;

/** What callers are told who asked for something else than an attempt. */
export function withoutEngine(thrown: unknown): never {
  if (!isEngineTrouble(thrown) && !isRefusal(thrown)) throw thrown;
  throw fail(
    'run.infrastructure',
    `Cannot ask the engine: ${isRefusal(thrown) ? withoutPaths(thrown.message) : UNREACHABLE}`,
  );
}

const UNREACHABLE =
  'the engine cannot be reached; start it, or name its socket in haft.yaml (runs.docker.socket); "haft doctor" tries it';
