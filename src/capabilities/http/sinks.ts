// Owns: the ends of a body: kept up to a limit, passed on, or read away so that the connection can be kept.
// Refuses: decoding; a stream that needs it goes through decode-body.
import { Readable } from 'node:stream';
import type { Flow, Sink } from './exchange.ts';

export interface Collected {
  readonly bytes: Uint8Array;
  readonly truncated: boolean;
}

/** The fast way, without a stream: for bodies that are neither encoded nor kept as an artifact. */
export function collectSink(maxBytes: number): { readonly sink: Sink; collected(): Collected } {
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
export function streamSink(): { readonly sink: Sink; readonly body: Readable } {
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
export function passingSink(pass: (chunk: Buffer) => unknown): Sink {
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
export function discardSink(): Sink {
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
