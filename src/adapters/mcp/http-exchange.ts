// Owns: one HTTP request of MCP and what comes back: JSON, or events with a message each.
// Refuses: to know whose answer it is; `heard` says when the one that was waited for has come.
import type { AnswerSpill, Invocation } from '../../contract/adapter.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpHandle, HttpHead, HttpRequest } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import { messagesOf, type RpcError, readError } from './protocol.ts';
import { createEventReader } from './sse.ts';

export interface MessageExchange {
  readonly http: HttpHandle;
  readonly url: string;
  /** Absent: a GET, for a stream. */
  readonly message?: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  /** Where an answer goes that is longer. */
  readonly spill?: Invocation['spill'] | undefined;
  readonly name: string;
  /** Told once, before any message. */
  head?(head: HttpHead): void;
  /** Told of every message; true for the answer, after which nothing more matters. */
  heard(message: Readonly<Record<string, unknown>>): boolean;
}

export interface ExchangeEnd {
  readonly status: number;
  readonly answered: boolean;
  /** Of a refusal that came with one. */
  readonly error?: RpcError;
  /** Of a stream, where it can be taken up again; else empty. */
  readonly lastEventId: string;
  readonly retryMs: number | undefined;
}

/** A stream may go on for days; whoever listens brings a signal. */
const UNLIMITED_MS = 2 ** 31 - 1;

export async function exchangeMessages(exchange: MessageExchange): Promise<ExchangeEnd> {
  const { message, maxBytes, name } = exchange;
  let spill: AnswerSpill | undefined;
  /** What cannot be held, with what was held so far. */
  const overflow = (...pieces: readonly Uint8Array[]): Promise<void> => {
    spill ??= exchange.spill?.();
    const fact = `Cannot take the answer of "${name}": it is over the limit of ${maxBytes} bytes`;
    if (!spill) throw fail('output.too_large', fact, { limit: maxBytes });
    let writing = Promise.resolve();
    for (const piece of pieces) writing = spill.write(piece);
    return writing;
  };
  const overflown = async (): Promise<never> => {
    throw await spill?.fail(maxBytes);
  };
  let answered = false;
  const take = (text: string): void => {
    for (const incoming of parse(text)) if (exchange.heard(incoming)) answered = true;
  };
  const events = createEventReader({ maxBytes, overflow, event: ({ data }) => data !== '' && take(data) });
  let chunks: Uint8Array[] = [];
  let size = 0;
  let begun = false;
  const begin = (head: HttpHead) => {
    if (!begun) exchange.head?.(head);
    begun = true;
  };
  const request: HttpRequest = {
    url: exchange.url,
    method: message ? 'POST' : 'GET',
    headers: {
      accept: message ? 'application/json, text/event-stream' : 'text/event-stream',
      ...(message ? { 'content-type': 'application/json' } : {}),
      ...exchange.headers,
    },
    ...(message ? { body: JSON.stringify(message) } : {}),
    signal: exchange.signal,
    timeoutMs: UNLIMITED_MS,
    retries: 0,
    onData(chunk, head) {
      begin(head);
      const { status, headers } = head;
      if (status < 300 && String(headers['content-type']).startsWith('text/event-stream')) {
        const keeping = events.push(chunk);
        return events.overflown ? (keeping ?? Promise.resolve()).then(overflown) : keeping;
      }
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(Buffer.from(chunk));
      const held = chunks;
      chunks = [];
      return overflow(...held, chunk);
    },
  };
  const response = await exchange.http.request(request).catch(async (thrown) => {
    await spill?.discard();
    throw thrown;
  });
  if (spill) await overflown();
  begin(response);
  const text = Buffer.concat(chunks).toString();
  const { status } = response;
  const refusal = status >= 400 ? parse(text).find(({ error }) => error !== undefined)?.error : undefined;
  if (status < 300 && text.trim() !== '') take(text);
  return {
    status,
    answered,
    ...(refusal === undefined ? {} : { error: readError(refusal) }),
    lastEventId: events.lastId,
    retryMs: events.retryMs,
  };
}

function parse(text: string): ReturnType<typeof messagesOf> {
  try {
    return messagesOf(JSON.parse(text));
  } catch {
    return [];
  }
}
