// Owns: MCP over streamable HTTP: each message a POST of its own, answered with JSON or with a stream of events.
// Refuses: addresses that the guarded handle refuses, and to send again what may have been taken.
import { isRecord } from '../../base/is-record.ts';
import { orAborted } from '../../base/or-aborted.ts';
import type { AnswerSpill, Invocation } from '../../contract/adapter.ts';
import { type Failure, fail, isFailure } from '../../contract/errors.ts';
import type { HttpHandle, HttpHead, HttpRequest } from '../../contract/http.ts';
import type { JsonObject } from '../../contract/json.ts';
import { markUnsent, unsent } from '../attempts.ts';
import type { Scheduler } from '../scheduler.ts';
import { type AskOptions, type Channel, type ChannelEvents, hear, type McpProgress } from './converse.ts';
import { nameHeader } from './param-headers.ts';
import type { RpcAnswer, RpcError } from './protocol.ts';
import { MODERN_META, MODERN_VERSION, messagesOf, readAnswer, readError } from './protocol.ts';
import { createEventReader } from './sse.ts';

interface HttpChannelOptions {
  readonly name: string;
  readonly url: string;
  /** Sent with every message: authorization. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the installation; a call brings its own. */
  readonly http: HttpHandle;
  readonly maxMessageBytes: number;
  readonly events: ChannelEvents;
  readonly scheduler: Scheduler;
}

const LISTEN_AGAIN_MS = 1_000;
const GOODBYE_MS = 2_000;
const MAX_LISTEN_FAILURES = 8;

export function openHttpChannel(options: HttpChannelOptions): Channel {
  const { name, url, http, maxMessageBytes, events, scheduler } = options;
  const closing = new AbortController();
  let version: string | undefined;
  let session: string | undefined;
  let gone = false;
  let lastId = 0;

  const isModern = () => version === MODERN_VERSION;
  const headersFor = (message?: JsonObject): Record<string, string> => ({
    ...options.headers,
    ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
    ...(session === undefined ? {} : { 'mcp-session-id': session }),
    ...(isModern() && message ? modernHeaders(message) : {}),
  });
  const exchange = (
    message: JsonObject | undefined,
    how: Pick<AskOptions, 'signal' | 'http' | 'headers' | 'spill'>,
    heard: MessageExchange['heard'],
    resume?: string,
  ) =>
    exchangeMessages({
      http: how.http ?? http,
      url,
      ...(message ? { message } : {}),
      headers: {
        ...headersFor(message),
        ...how.headers,
        ...(resume === undefined ? {} : { 'last-event-id': resume }),
      },
      signal: AbortSignal.any([how.signal, closing.signal]),
      maxBytes: maxMessageBytes,
      spill: how.spill,
      name,
      head({ headers }) {
        const given = headers['mcp-session-id'];
        if (message?.method === 'initialize' && typeof given === 'string') session = given;
      },
      heard,
    });
  const tell = async (message: JsonObject): Promise<void> => {
    const brief = AbortSignal.timeout(GOODBYE_MS);
    await exchange(message, { signal: brief }, () => false).catch(() => {});
  };
  const listenTo = (message: Readonly<Record<string, unknown>>, progress?: (progress: McpProgress) => void) =>
    hear(message, {
      progress: (_, seen) => progress?.(seen),
      answer: (id, answer) => void tell({ jsonrpc: '2.0', id, ...answer } as JsonObject),
      toolsChanged: events.toolsChanged,
    });

  const ask: Channel['ask'] = async ({ method, params }, how) => {
    how.signal.throwIfAborted();
    const id = ++lastId;
    const meta = { ...(params._meta as JsonObject | undefined), ...(isModern() ? MODERN_META : {}) };
    const message = {
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, _meta: { ...meta, progressToken: id } },
    };
    const found = Promise.withResolvers<RpcAnswer>();
    const heard = (incoming: Readonly<Record<string, unknown>>): boolean => {
      if (typeof incoming.method === 'string') listenTo(incoming, how.progress);
      const isAnswer = incoming.method === undefined && (incoming.id === id || incoming.id === undefined);
      if (isAnswer) found.resolve(readAnswer(incoming));
      return isAnswer;
    };
    /**
     * The server closed the connection and not the stream: it can be taken up where it was left. Whatever goes wrong by
     * then, the message had arrived. Answers whether the answer came.
     */
    const takeUp = async (left: ExchangeEnd): Promise<boolean> => {
      let ended = left;
      for (let tries = 0; !ended.answered && ended.lastEventId !== '' && tries < 3; tries++) {
        await scheduler.sleep(ended.retryMs ?? LISTEN_AGAIN_MS, how.signal);
        const next = await exchange(undefined, how, heard, ended.lastEventId).catch((thrown) => {
          if (isFailure(thrown) && thrown.reason === 'output.too_large') throw thrown;
          return undefined;
        });
        if (!next) continue;
        if (session !== undefined && isSessionLost(next.status, next.error?.code)) gone = true;
        ended = next;
      }
      return ended.answered;
    };
    const sending = async (): Promise<RpcAnswer> => {
      const ended = await exchange(message, how, heard);
      if (ended.answered || (ended.lastEventId !== '' && (await takeUp(ended)))) return found.promise;
      const { status, error } = ended;
      if (session !== undefined && isSessionLost(status, error?.code)) {
        gone = true;
        throw unsent('tool.unhealthy', `Cannot reach "${name}": it has ended our session`, { status });
      }
      if (error) return { error, status };
      if (status >= 400) throw statusFailure(name, status);
      throw fail(
        'call.outcome_unknown',
        `Cannot say what became of the call: "${name}" ended its answer too early`,
      );
    };
    const sent = sending();
    sent.catch(() => {});
    try {
      return await orAborted(Promise.race([found.promise, sent]), how.signal);
    } catch (thrown) {
      if (how.signal.aborted) {
        const params = { requestId: id, reason: 'cancelled' };
        // Without a handshake, closing the stream says so.
        if (!isModern()) void tell({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
        throw how.signal.reason;
      }
      throw closing.signal.aborted ? closing.signal.reason : sentOrNot(name, thrown);
    }
  };

  /** One stream after another, until the channel is closed or the server has none to offer. */
  const listening = async (): Promise<void> => {
    const listen = { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } };
    let streams = 0;
    for (let failures = 0; failures < MAX_LISTEN_FAILURES && !gone && !closing.signal.aborted; ) {
      const id = ++lastId;
      const message = { jsonrpc: '2.0', id, ...listen, params: { ...listen.params, _meta: MODERN_META } };
      const heard = (incoming: Readonly<Record<string, unknown>>) => {
        // What changed between two streams nobody has told.
        if (incoming.method === 'notifications/subscriptions/acknowledged' && ++streams > 1)
          events.toolsChanged();
        if (typeof incoming.method === 'string') listenTo(incoming);
        return false;
      };
      const ended = await exchange(isModern() ? message : undefined, { signal: closing.signal }, heard).catch(
        () => undefined,
      );
      if (ended && session !== undefined && isSessionLost(ended.status, ended.error?.code)) gone = true;
      if (ended && ended.status >= 400) return;
      failures = ended ? 0 : failures + 1;
      await scheduler.sleep(
        ended?.retryMs ?? Math.min(30_000, LISTEN_AGAIN_MS * 2 ** failures),
        closing.signal,
      );
    }
  };

  return {
    ask,
    tell: (method, params) => tell({ jsonrpc: '2.0', method, ...(params ? { params } : {}) }),
    speak(spoken) {
      version = spoken;
    },
    listen: () => void listening().catch(() => {}),
    get gone() {
      return gone;
    },
    async close() {
      if (closing.signal.aborted) return;
      gone = true;
      closing.abort(
        fail('call.outcome_unknown', `Cannot finish the call: the adapter of "${name}" was closed`),
      );
      if (session === undefined) return;
      const goodbye = { url, method: 'DELETE', headers: headersFor(), timeoutMs: GOODBYE_MS, retries: 0 };
      await http.request(goodbye).catch(() => {});
    },
  };
}

/** Servers that were restarted know nothing of our session; some say so with 400. */
const isSessionLost = (status: number, code: number | undefined): boolean =>
  status === 404 || (status === 400 && (code === undefined || code === -32000));

function modernHeaders({ method, params }: JsonObject): Record<string, string> {
  const target = isRecord(params) ? params.name : undefined;
  return {
    ...(typeof method === 'string' ? { 'mcp-method': method } : {}),
    ...(typeof target === 'string' ? { 'mcp-name': nameHeader(target) } : {}),
  };
}

/** The handle calls the outcome of a POST unknown where it may have left; what else it says of connections was before. */
function sentOrNot(name: string, thrown: unknown): unknown {
  if (!isFailure(thrown) || thrown.details?.status !== undefined) return thrown;
  const { reason, message, details } = thrown;
  if (reason === 'time.deadline' && details?.sent === false) return markUnsent(thrown);
  if (reason !== 'http.failed') return thrown;
  const place = message.replace(/^Cannot (?:request|connect) /, '');
  return unsent('tool.unhealthy', `Cannot reach "${name}" at ${place}`, details);
}

function statusFailure(name: string, status: number): Failure {
  const message = `Cannot reach "${name}": it answers with HTTP ${status}`;
  if (status === 429) return fail('http.rate', message, { status });
  return fail(status === 401 || status === 403 ? 'tool.unhealthy' : 'http.failed', message, { status });
}

interface MessageExchange {
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

interface ExchangeEnd {
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

async function exchangeMessages(exchange: MessageExchange): Promise<ExchangeEnd> {
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
