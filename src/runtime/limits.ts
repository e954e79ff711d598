// Owns: the limits of a call: which hold, the signal that ends it in time, and how large an answer is.
// Not here: what happens to a call that is over one (pipeline.ts).
import { fail, isFailure } from '../contract/errors.ts';
import type { PolicyEngine } from '../contract/policy.ts';
import type { CallOptions, Clock } from '../contract/runtime.ts';
import type { AnyTool } from '../contract/tool.ts';
import { renderGrant } from '../policy/grant.ts';

/** The smaller of the host's limit and the tool's holds. */
export function effectiveLimits(tool: AnyTool, engine: PolicyEngine): EffectiveLimits {
  const host = engine.loaded.file.limits ?? {};
  const size = (own: number, key: 'max_input_bytes' | 'max_output_bytes'): SizeLimit => ({
    bytes: Math.min(own, host[key] ?? Number.POSITIVE_INFINITY),
    // Neither a tool's own limit nor a session's is haft.yaml's to raise.
    admit: (needed) =>
      needed <= own && engine.host.limits?.[key] === host[key]
        ? { admit: renderGrant({ limits: { [key]: needed } }) }
        : {},
  });
  return {
    timeoutMs: Math.min(tool.limits.timeoutMs, host.timeout_ms ?? Number.POSITIVE_INFINITY),
    input: size(tool.limits.maxInputBytes, 'max_input_bytes'),
    output: size(tool.limits.maxOutputBytes, 'max_output_bytes'),
  };
}

interface EffectiveLimits {
  readonly timeoutMs: number;
  readonly input: SizeLimit;
  readonly output: SizeLimit;
}

export interface SizeLimit {
  readonly bytes: number;
  /** The line that would let so many bytes through, for the details of a failure. */
  admit(needed: number): { readonly admit?: string };
}

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
      this.#own().abort(fail('time.deadline', message, { timeout_ms: this.#timeoutMs }));
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

/** About the bytes that `value` takes as JSON; never more than a few per cent below it for text. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return byteLength(value) + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let total = 2;
  if (Array.isArray(value)) {
    for (const item of value) total += sizeOf(item) + 1;
  } else {
    for (const key in value) total += key.length + 4 + sizeOf((value as Record<string, unknown>)[key]);
  }
  return total;
}

/** Short texts are mostly ASCII, and looked through sooner than asked about. */
function byteLength(text: string): number {
  if (text.length > 64) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return Buffer.byteLength(text);
  return text.length;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  // `performance.now()` would load a dozen modules at the first call.
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
};
