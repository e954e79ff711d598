// Owns: what a client is told while a call that it gave a token for runs: the tool's progress, its output, that it still runs.
// Refuses: to flood a client: what is printed leaves at most ten times a second, the newest of it.
import type { EventMessage } from '../../contract/envelope.ts';
import type { Pieces } from './mapping.ts';

export interface ProgressSender {
  onEvent(event: EventMessage): void;
  /**
   * To be called before the answer, which has all of the output: what is still held would arrive together with it, and
   * clients take an answer first and then complain about progress of nothing.
   */
  end(): void;
}

const OUTPUT_MS = 100;
/** A client that hears nothing for long gives a call up. */
const SILENCE_MS = 5_000;
/** The most of the output that one message holds. */
const LONGEST = 2_000;

export function createProgressSender(token: unknown, send: (message: Pieces) => unknown): ProgressSender {
  /** MCP's progress must grow with every notification; a tool's percentage need not. */
  let last = 0;
  let hasTotal = false;
  let held = '';
  let due: NodeJS.Timeout | undefined;
  let ended = false;
  const started = Date.now();

  const notify = (pct: number, message: string | undefined) => {
    last = Math.max(last + 0.001, pct);
    const params = {
      progressToken: token,
      progress: last,
      ...(hasTotal ? { total: 100 } : {}),
      ...(message === undefined ? {} : { message }),
    };
    send([JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })]);
    silence.refresh();
  };
  const flush = () => {
    due = undefined;
    const message = held.trimEnd();
    held = '';
    if (message !== '') notify(0, message);
  };
  const silence = setTimeout(() => {
    notify(0, `still running after ${Math.round((Date.now() - started) / 1000)} s`);
  }, SILENCE_MS).unref();

  return {
    onEvent({ event, progress, data }) {
      if (ended) return;
      if (progress) {
        hasTotal ||= progress.pct !== undefined;
        notify(progress.pct ?? 0, progress.message);
      } else if (event === 'TaskOutput') {
        const { text } = data as { readonly text: string };
        held = held.length + text.length > LONGEST ? `…${(held + text).slice(-LONGEST)}` : held + text;
        due ??= setTimeout(flush, OUTPUT_MS).unref();
      }
    },
    end() {
      ended = true;
      clearTimeout(due);
      clearTimeout(silence);
    },
  };
}
