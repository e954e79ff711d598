// Owns: one attempt: a connection taken, a request sent, its body received (the beginning for the caller, all of it for an artifact
// where one is asked for), the connection given back.
// Refuses: to decide what an answer is worth (`keep` does), and to read on once nobody wants more: a bomb stops at the limit of
// what it became, not of what it was.
import { Readable } from 'node:stream';
import type { HttpRequest, HttpResponse, HttpTimings } from '../../contract/http.ts';
import type { ObjectStore } from '../../contract/object-store.ts';
import type { Connections } from './connections.ts';
import type { RequestDeadline } from './deadline.ts';
import type { Place } from './dial.ts';
import type { ExchangeFailure, Flow, Message, ResponseHead, Sink } from './exchange.ts';
import { exchange } from './exchange.ts';
import { decodeBody, encodingsOf, type Headers } from './request-headers.ts';
import { isIdempotent, type Outgoing } from './retry.ts';

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

interface ArtifactPlace {
  readonly objects: Pick<ObjectStore, 'putStream'>;
  readonly maxBytes: number;
}

interface CollectedBody extends Collected {
  readonly artifact?: NonNullable<HttpResponse['artifact']>;
}

async function collectBody(
  stream: Readable,
  maxBytes: number,
  place: ArtifactPlace | undefined,
): Promise<CollectedBody> {
  const chunks: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  const keep = (chunk: Buffer): void => {
    const part = chunk.subarray(0, Math.max(0, maxBytes - kept));
    seen += chunk.length;
    if (part.length === 0) return;
    chunks.push(part);
    kept += part.length;
  };
  const collected = () => ({ bytes: Buffer.concat(chunks), truncated: seen > kept });

  if (!place) {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      keep(chunk);
      if (seen > maxBytes) break;
    }
    return collected();
  }

  let cut = false;
  async function* whole(limit: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const room = limit - seen;
      keep(chunk);
      cut = chunk.length > room;
      yield cut ? chunk.subarray(0, room) : chunk;
      if (cut) return;
    }
  }
  const { id, size } = await place.objects.putStream(whole(place.maxBytes));
  return { ...collected(), artifact: { id, size, truncated: cut } };
}

/** The same for somebody who takes every piece and wants none kept. */
async function passBody(stream: Readable, pass: (chunk: Buffer) => unknown): Promise<CollectedBody> {
  for await (const chunk of stream as AsyncIterable<Buffer>) await pass(chunk);
  return { bytes: new Uint8Array(0), truncated: false };
}

interface Collected {
  readonly bytes: Uint8Array;
  readonly truncated: boolean;
}

/** The fast way, without a stream: for bodies that are neither encoded nor kept as an artifact. */
function collectSink(maxBytes: number): { readonly sink: Sink; collected(): Collected } {
  const chunks: Buffer[] = [];
  let size = 0;
  let truncated = false;
  const sink: Sink = {
    write(chunk, flow) {
      const room = maxBytes - size;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      size += Math.min(room, chunk.length);
      if (chunk.length <= room) return;
      truncated = true;
      flow.stop();
    },
    end() {},
    fail() {},
  };
  return { sink, collected: () => ({ bytes: joined(chunks), truncated }) };
}

const joined = (chunks: readonly Buffer[]): Uint8Array =>
  chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks as Buffer[]);

/** Pauses the connection while nobody reads; destroying the stream stops the flow. */
function streamSink(): { readonly sink: Sink; readonly body: Readable } {
  let flow: Flow | undefined;
  let ended = false;
  const body = new Readable({
    read: () => flow?.resume(),
    destroy(error, done) {
      if (!ended) flow?.stop();
      done(error);
    },
  });
  const sink: Sink = {
    write(chunk, current) {
      flow = current;
      if (body.destroyed) flow.stop();
      else if (!body.push(chunk)) flow.pause();
    },
    end() {
      ended = true;
      body.push(null);
    },
    fail(error) {
      ended = true;
      body.destroy(error);
    },
  };
  return { sink, body };
}

/** Nothing is kept. Whoever throws wants no more, and the exchange fails with what was thrown. */
function passingSink(pass: (chunk: Buffer) => unknown): Sink {
  let over = false;
  return {
    write(chunk, flow) {
      try {
        const waiting = pass(chunk);
        if (!(waiting instanceof Promise)) return;
        flow.pause();
        waiting.then(
          // Also when the body has ended meanwhile: the connection may be kept. Not before the parser has seen the pause.
          () => setImmediate(() => flow.resume()),
          (error) => over || flow.stop(error),
        );
      } catch (error) {
        flow.stop(error as Error);
      }
    },
    end() {
      over = true;
    },
    fail() {
      over = true;
    },
  };
}

const MAX_READ_AWAY = 64 * 1024;

/** For answers that are not wanted: a redirect's, one that is tried again. */
function discardSink(): Sink {
  let size = 0;
  return {
    write(chunk, flow) {
      size += chunk.length;
      if (size > MAX_READ_AWAY) flow.stop();
    },
    end() {},
    fail() {},
  };
}
