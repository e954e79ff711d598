// Owns: the process of a toolpack that has heard nothing before: each question is put to one of its own, which ends with the answer.
// Refuses: to keep a process for a second question; what is kept ready has loaded the module and nothing else.
import { createSession, type SessionOptions, type ToolpackSession } from './session.ts';

export interface FreshSession extends ToolpackSession {
  /** Starts the process of the next question now, so that the question does not wait for it. */
  prepare(): void;
}

/** Starting more at once would make each of them late. */
const MOST_AT_ONCE = 4;
const LOAD_MS = 10_000;

interface Ready {
  readonly session: ToolpackSession;
  /** Rejects where the module could not be loaded. The time of a question begins after it. */
  readonly loaded: Promise<unknown>;
}

export function createFreshSession(options: SessionOptions): FreshSession {
  const open = new Set<Ready>();
  const ending = new Set<Promise<void>>();
  const queue: (() => void)[] = [];
  let busy = 0;
  let spare: Ready | undefined;
  let closed = false;
  let resting = false;

  const start = (): Ready => {
    const session = createSession(options);
    const { signal } = new AbortController();
    const loaded = session.request({ op: 'load', signal, patienceMs: LOAD_MS });
    loaded.catch(() => {});
    const one: Ready = { session, loaded };
    open.add(one);
    return one;
  };

  const end = (one: Ready): void => {
    open.delete(one);
    const closing = one.session.close().finally(() => ending.delete(closing));
    ending.add(closing);
  };

  /** A spare that could not be loaded says nothing about the next one. */
  const take = async (signal: AbortSignal): Promise<Ready> => {
    const kept = spare;
    spare = undefined;
    if (kept) {
      try {
        await unlessAborted(kept.loaded, signal);
        return kept;
      } catch {
        end(kept);
        signal.throwIfAborted();
      }
    }
    const one = start();
    try {
      await unlessAborted(one.loaded, signal);
      return one;
    } catch (thrown) {
      end(one);
      throw thrown;
    }
  };

  return {
    prepare() {
      if (!closed && !resting) spare ??= start();
    },
    async request(question) {
      question.signal.throwIfAborted();
      resting = false;
      if (busy === MOST_AT_ONCE) await new Promise<void>((resolve) => queue.push(resolve));
      else busy += 1;
      try {
        const one = await take(question.signal);
        try {
          return await one.session.request(question);
        } finally {
          end(one);
        }
      } finally {
        const next = queue.shift();
        if (next) next();
        else busy -= 1;
      }
    },
    rest() {
      resting = true;
      if (busy > 0) return undefined;
      spare = undefined;
      for (const one of [...open]) end(one);
      return Promise.all(ending);
    },
    async close() {
      closed = true;
      spare = undefined;
      for (const one of [...open]) end(one);
      await Promise.all(ending);
    },
  };
}

async function unlessAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
