// Owns: the one signal that ends a call: its caller's cancellation or its time limit.
// Refuses: to leave a timer or a listener behind.
import { fail } from '../contract/errors.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Rejects when the signal aborts; never resolves. */
  readonly aborted: Promise<never>;
  /** Lets the time run. A call that never waits for anything needs no timer, and timers cost more than small reads. */
  arm(): void;
  clear(): void;
}

export function startDeadline(tool: string, timeoutMs: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const cancel = () =>
    controller.abort(fail('time.cancelled', `Cannot finish "${tool}": the caller cancelled it`));
  if (caller?.aborted) cancel();
  else caller?.addEventListener('abort', cancel, { once: true });
  let timer: NodeJS.Timeout | undefined;
  let aborted: Promise<never> | undefined;
  return {
    signal,
    get aborted() {
      aborted ??= new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      aborted.catch(() => {});
      return aborted;
    },
    arm() {
      timer ??= setTimeout(() => {
        controller.abort(
          fail('time.deadline', `Cannot finish "${tool}": it ran longer than ${timeoutMs} ms`),
        );
      }, timeoutMs);
    },
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', cancel);
    },
  };
}
