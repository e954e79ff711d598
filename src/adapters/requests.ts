// Owns: which request an answer belongs to: those under way, by id, until they are answered, cancelled, lost or too large.
// Refuses: a second answer, and an answer to nobody.
import type { AnswerSpill, Invocation } from '../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../contract/errors.ts';
import { idOfEnds, type LineProgramEvents } from './line-program.ts';

interface Requests<Answer, Notice> {
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
  /** Of the one request under way, where there is exactly one. */
  readonly only: number | undefined;
}

interface RequestOptions<Notice> {
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
    get only() {
      const [first] = waiting.keys();
      return waiting.size === 1 ? first : undefined;
    },
  };
}

interface OversizedOptions<Answer, Notice> {
  /** For messages. */
  readonly name: string;
  readonly limit: number;
  readonly requests: Requests<Answer, Notice>;
  /** Ends the program. */
  stop(why: string): void;
}

export function oversizedLines<Answer, Notice>({
  name,
  limit,
  requests,
  stop,
}: OversizedOptions<Answer, Notice>): Required<Pick<LineProgramEvents, 'oversize' | 'overrun'>> {
  /** Of the line that comes now. All calls of one program have the same secrets, so that any of them may keep it. */
  let spill: AnswerSpill | undefined;
  let refused: unknown;
  const lost = (bytes: number): Failure => {
    const message = `Cannot take the answer of "${name}": it is ${bytes} bytes, over the limit of ${limit}`;
    return fail('output.too_large', message, { bytes, limit });
  };
  return {
    overrun(_length, head, piece) {
      if (refused !== undefined) return undefined;
      try {
        spill ??= requests.spill(idOfEnds(head, '') ?? requests.only);
        return spill?.write(piece);
      } catch (thrown) {
        refused = thrown;
        void spill?.discard();
        spill = undefined;
        return undefined;
      }
    },
    oversize(length, head, tail) {
      const id = idOfEnds(head, tail) ?? requests.only;
      const [kept, why] = [spill, refused];
      spill = undefined;
      refused = undefined;
      const settle = (failure: Failure) => {
        if (!requests.fail(id, failure))
          stop(
            `it was ended, because it wrote a line of ${length} bytes, over the limit of ${limit}, to nobody`,
          );
      };
      if (!kept) return settle(isFailure(why) ? why : lost(length));
      kept.fail(limit).then(settle, () => settle(lost(length)));
    },
  };
}
