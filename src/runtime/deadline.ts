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
  return new CallDeadline(tool, timeoutMs, given);
}

/** A class, since every call makes one: an object of closures costs as much as the rest of a small call's bookkeeping. */
class CallDeadline implements Deadline {
  readonly #tool: string;
  readonly #timeoutMs: number;
  readonly #given: CallOptions['signal'];
  #controller: AbortController | undefined;
  #caller: AbortSignal | undefined;
  #cancel: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #aborted: Promise<never> | undefined;

  constructor(tool: string, timeoutMs: number, given: CallOptions['signal']) {
    this.#tool = tool;
    this.#timeoutMs = timeoutMs;
    this.#given = given;
    if (typeof given === 'object' && given.aborted) this.#own();
  }

  get signal(): AbortSignal {
    return this.#own().signal;
  }

  get aborted(): Promise<never> {
    const { signal } = this.#own();
    this.#aborted ??= new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    this.#aborted.catch(() => {});
    return this.#aborted;
  }

  arm(): void {
    this.#timer ??= setTimeout(() => {
      const message = `Cannot finish "${this.#tool}": it ran longer than ${this.#timeoutMs} ms`;
      this.#own().abort(fail('time.deadline', message));
    }, this.#timeoutMs);
  }

  clear(): void {
    clearTimeout(this.#timer);
    if (this.#cancel) this.#caller?.removeEventListener('abort', this.#cancel);
  }

  #own(): AbortController {
    if (this.#controller) return this.#controller;
    const controller = new AbortController();
    this.#controller = controller;
    const caller = typeof this.#given === 'function' ? this.#given() : this.#given;
    this.#caller = caller;
    /** A caller that has its own failure to tell, such as that this process goes away, is taken at its word. */
    this.#cancel = () => {
      const reason: unknown = caller?.reason;
      const cancelled = () =>
        fail('time.cancelled', `Cannot finish "${this.#tool}": the caller cancelled it`);
      controller.abort(isFailure(reason) ? reason : cancelled());
    };
    if (caller?.aborted) this.#cancel();
    else caller?.addEventListener('abort', this.#cancel, { once: true });
    return controller;
  }
}
