// Owns: one attempt: a connection taken, a request sent, its body received, the connection given back.
// Refuses: to decide what an answer is worth; `keep` does.
import type { HttpRequest, HttpResponse, HttpTimings } from '../../contract/http.ts';
import type { Place } from './check-place.ts';
import { type ArtifactPlace, type CollectedBody, collectBody, passBody } from './collect-body.ts';
import type { Connections } from './connections.ts';
import type { RequestDeadline } from './deadline.ts';
import { decodeBody, encodingsOf } from './decode-body.ts';
import { type ExchangeFailure, exchange, type Message, type ResponseHead, type Sink } from './exchange.ts';
import type { Outgoing } from './redirect.ts';
import type { Headers } from './request-headers.ts';
import { isIdempotent } from './retry.ts';
import { collectSink, discardSink, passingSink, streamSink } from './sinks.ts';

export interface SendLimits {
  readonly connectMs: number;
  /** 0 for none beside the deadline. */
  readonly headersMs: number;
  readonly bodyMs: number;
  readonly maxBytes: number;
  readonly artifact: ArtifactPlace | undefined;
  readonly onData: HttpRequest['onData'];
}

export interface Sending {
  readonly place: Place;
  readonly outgoing: Outgoing;
  readonly limits: SendLimits;
  readonly deadline: RequestDeadline;
  /** Asked once, when the headers are there: whether anybody wants the body. */
  keep(head: ResponseHead): boolean;
}

export interface Answer extends CollectedBody {
  readonly head: ResponseHead;
  readonly headers: HttpResponse['headers'];
  readonly address: string;
  readonly timings: Pick<HttpTimings, 'connect' | 'tls' | 'firstByte' | 'reused'>;
}

/** A kept connection that was idle for longer is not trusted with a request that cannot be sent again. */
const FRESH_MS = 1_000;

export async function send(connections: Connections, sending: Sending): Promise<Answer | ExchangeFailure> {
  const { place, outgoing, limits, deadline } = sending;
  const maxIdle = isIdempotent(outgoing.method) ? Number.POSITIVE_INFINITY : FRESH_MS;
  const connection = await connections.acquire(place, maxIdle, deadline.signal);
  const before = connection.dialled;
  connection.connectTimeoutMs = Math.max(1, Math.min(limits.connectMs, deadline.remaining()));

  const receiver = receive(sending);
  const result = await exchange(connection, messageOf(outgoing, limits), receiver.sinkFor, deadline.signal);
  if ('error' in result) {
    connection.destroy(result.error);
    return result;
  }
  const body = await receiver.body().catch((error: Error): ExchangeFailure => ({ error, sent: true }));
  const { dialled } = connection;
  connection.release(!result.stopped && !('error' in body));
  if ('error' in body) return body;
  const reused = before !== undefined && dialled === before;
  return {
    head: result.head,
    headers: headersOf(result.head, receiver.decoded()),
    ...body,
    address: dialled?.address ?? '',
    timings: {
      connect: reused ? 0 : (dialled?.connect ?? 0),
      tls: reused ? 0 : (dialled?.tls ?? 0),
      firstByte: result.firstByte,
      reused,
    },
  };
}

const NOTHING: CollectedBody = { bytes: new Uint8Array(0), truncated: false };

/** Chooses the way of the body when the headers are there, and has its result once it has ended. */
function receive({ outgoing, limits, keep }: Sending) {
  let result: () => Promise<CollectedBody> = async () => NOTHING;
  let decoded = false;
  const sinkFor = (head: ResponseHead): Sink => {
    if (!keep(head)) return discardSink();
    const encodings = outgoing.method === 'HEAD' ? undefined : encodingsOf(head.headers['content-encoding']);
    const { onData } = limits;
    if (onData && !encodings) return passingSink((chunk) => onData(chunk, head));
    if (!encodings && !limits.artifact) {
      const { sink, collected } = collectSink(limits.maxBytes);
      result = async () => collected();
      return sink;
    }
    decoded = encodings !== undefined;
    const { sink, body } = streamSink();
    const reading = decodeBody(body, encodings ?? []).then((stream) =>
      onData
        ? passBody(stream, (chunk) => onData(chunk, head))
        : collectBody(stream, limits.maxBytes, limits.artifact),
    );
    // It may fail before the exchange is over; whoever asks for the result learns of it.
    reading.catch((error) => body.destroy(error));
    result = () => reading;
    return sink;
  };
  return { sinkFor, body: () => result(), decoded: () => decoded };
}

function messageOf({ method, url, headers, body }: Outgoing, limits: SendLimits): Message {
  return {
    method,
    path: url.pathname + url.search,
    headers: flat(headers),
    body,
    headersTimeoutMs: limits.headersMs,
    bodyTimeoutMs: limits.bodyMs,
  };
}

function flat(headers: Headers): string[] {
  const list: string[] = [];
  for (const [name, value] of headers) list.push(name, value);
  return list;
}

/** Without what describes an encoding that is no longer there. */
function headersOf({ headers }: ResponseHead, decoded: boolean): HttpResponse['headers'] {
  if (!decoded) return headers;
  const { 'content-encoding': _, 'content-length': __, ...others } = headers;
  return others;
}
