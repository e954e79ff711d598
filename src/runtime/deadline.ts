// Owns: the one signal that ends a call: its caller's cancellation or its time limit.
// Refuses: to leave a timer or a listener behind.
import { fail, isFailure } from '../contract/errors.ts';
import type { CallOptions } from '../contract/runtime.ts';

export interface Deadline {
  readonly signal: AbortSignal;
  /** Rejects when the signal aborts; never resolves. */
  readonly aborted: Promise<never>;
  /** Lets the time run. A call that never waits for anything needs no timer, and timers cost more than small reads. */
  arm(): void;
  clear(): void;
}

/** Most calls answer before anything waits: signals are made and listened to when somebody asks for one. */
export function startDeadline(tool: string, timeoutMs: number, given: CallOptions['signal']): Deadline {
  let controller: AbortController | undefined;
  let caller: AbortSignal | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** A caller that has its own failure to tell, such as that this process goes away, is taken at its word. */
  const cancel = () => {
    const reason: unknown = caller?.reason;
    const cancelled = () => fail('time.cancelled', `Cannot finish "${tool}": the caller cancelled it`);
    controller?.abort(isFailure(reason) ? reason : cancelled());
  };
  const own = (): AbortController => {
    if (controller) return controller;
    controller = new AbortController();
    caller = typeof given === 'function' ? given() : given;
    if (caller?.aborted) cancel();
    else caller?.addEventListener('abort', cancel, { once: true });
    return controller;
  };
  if (typeof given === 'object' && given.aborted) own();
  let aborted: Promise<never> | undefined;
  return {
    get signal() {
      return own().signal;
    },
    get aborted() {
      const { signal } = own();
      aborted ??= new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      aborted.catch(() => {});
      return aborted;
    },
    arm() {
      timer ??= setTimeout(() => {
        own().abort(fail('time.deadline', `Cannot finish "${tool}": it ran longer than ${timeoutMs} ms`));
      }, timeoutMs);
    },
    clear() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', cancel);
    },
  };
}
