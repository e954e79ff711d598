// Owns: which request an answer belongs to: those under way, by their id, until they are answered, cancelled or lost.
// Refuses: a second answer, and an answer to nobody.
import type { AnswerSpill, Invocation } from '../contract/adapter.ts';
import type { Failure } from '../contract/errors.ts';

export interface Requests<Answer, Notice> {
  /**
   * Waits for the answer to a new request. `send` is given its id; what it throws is thrown. When the signal aborts,
   * `cancel` tells the other side, and the signal's reason is thrown at once.
   */
  ask(options: RequestOptions<Notice>): Promise<Answer>;
  answer(id: unknown, answer: Answer): boolean;
  notice(id: unknown, notice: Notice): void;
  fail(id: unknown, failure: Failure): boolean;
  failAll(failure: (id: number) => Failure): void;
  /** Where the answer to it goes that cannot be held; to any, where it is not known to which. */
  spill(id: unknown): AnswerSpill | undefined;
  readonly size: number;
  /** Of the one request under way, where there is exactly one. */
  readonly only: number | undefined;
}

export interface RequestOptions<Notice> {
  readonly signal: AbortSignal;
  send(id: number): void;
  cancel?(id: number): void;
  notice?(notice: Notice): void;
  readonly spill?: Invocation['spill'] | undefined;
}

interface Waiting<Answer, Notice> extends Pick<RequestOptions<Notice>, 'spill'> {
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
  notice(notice: Notice): void;
}

export function createRequests<Answer, Notice = never>(): Requests<Answer, Notice> {
  const waiting = new Map<number, Waiting<Answer, Notice>>();
  let last = 0;
  const take = (id: unknown) => {
    const found = typeof id === 'number' ? waiting.get(id) : undefined;
    if (found) waiting.delete(id as number);
    return found;
  };
  return {
    ask({ signal, send, cancel, notice, spill }) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const id = ++last;
      return new Promise<Answer>((resolve, reject) => {
        const abort = () => {
          if (!take(id)) return;
          reject(signal.reason);
          try {
            cancel?.(id);
          } catch {
            // It is gone, and with it the request.
          }
        };
        const over =
          <V>(settle: (value: V) => void) =>
          (value: V) => {
            signal.removeEventListener('abort', abort);
            settle(value);
          };
        waiting.set(id, {
          resolve: over(resolve),
          reject: over(reject),
          notice: notice ?? (() => {}),
          spill,
        });
        signal.addEventListener('abort', abort, { once: true });
        try {
          send(id);
        } catch (thrown) {
          take(id)?.reject(thrown);
        }
      });
    },
    answer(id, answer) {
      const found = take(id);
      found?.resolve(answer);
      return found !== undefined;
    },
    notice(id, notice) {
      if (typeof id === 'number') waiting.get(id)?.notice(notice);
    },
    fail(id, failure) {
      const found = take(id);
      found?.reject(failure);
      return found !== undefined;
    },
    failAll(failure) {
      for (const id of [...waiting.keys()]) take(id)?.reject(failure(id));
    },
    spill(id) {
      const [first] = waiting.values();
      return ((typeof id === 'number' ? waiting.get(id) : undefined) ?? first)?.spill?.();
    },
    get size() {
      return waiting.size;
    },
    get only() {
      const [first] = waiting.keys();
      return waiting.size === 1 ? first : undefined;
    },
  };
}
