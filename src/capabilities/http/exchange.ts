// Owns: one request and its answer over one connection: sent, received into a sink, ended early or to the end.
// Refuses: to judge the answer, to try again, to follow.
import type { Client, Dispatcher } from 'undici';
import type { Connection } from './connections.ts';

export interface Message {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: Uint8Array | null;
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] };
}

/** Lets the receiver of a body say how fast it comes. */
export interface Flow {
  pause(): void;
  resume(): void;
  /** The connection ends. Without an error enough was seen, and that is no failure. */
  stop(error?: Error): void;
}

/** Takes a body as it comes. Exactly one of `end` and `fail` is called, unless it stopped the flow itself. */
export interface Sink {
  write(chunk: Buffer, flow: Flow): void;
  end(): void;
  fail(error: Error): void;
}

export interface Exchanged {
  readonly head: ResponseHead;
  /** Milliseconds from the sent request to the headers. */
  readonly firstByte: number;
  /** The body was not read to its end. */
  readonly stopped: boolean;
}

/** Thrown errors carry whether anything of the request may have left. */
export interface ExchangeFailure {
  readonly error: Error;
  readonly sent: boolean;
}

export type ExchangeResult = Exchanged | ExchangeFailure;

/**
 * Answers when the body has ended or the sink has stopped it. `receive` is asked for a sink as soon as the headers are
 * there. Aborting destroys the connection.
 */
export function exchange(
  connection: Connection,
  message: Message,
  receive: (head: ResponseHead) => Sink,
  signal: AbortSignal,
): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    let sent = 0;
    let head: ResponseHead | undefined;
    let firstByte = 0;
    let sink: Sink | undefined;
    let stopped = false;

    const abort = () => connection.destroy(signal.reason);
    const finish = (error?: Error) => {
      signal.removeEventListener('abort', abort);
      if (error && !stopped) sink?.fail(error);
      if (head && (stopped || !error)) resolve({ head, firstByte, stopped });
      else resolve({ error: error ?? new Error('no answer'), sent: sent > 0 });
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart() {
        sent = performance.now();
      },
      onResponseStart(controller, status, headers) {
        if (status < 200) return;
        if (headers['transfer-encoding'] !== undefined && headers['content-length'] !== undefined) {
          controller.abort(Object.assign(new Error('framed twice'), { code: 'HAFT_AMBIGUOUS' }));
          return;
        }
        firstByte = performance.now() - sent;
        head = { status, headers: headers as ResponseHead['headers'] };
        sink = receive(head);
      },
      onResponseData(controller, chunk) {
        if (stopped) return;
        sink?.write(chunk, {
          pause: () => controller.pause(),
          resume: () => controller.resume(),
          stop(error) {
            stopped = error === undefined;
            controller.abort(error ?? new Error('enough was read'));
          },
        });
      },
      onResponseEnd() {
        sink?.end();
        finish();
      },
      onResponseError: (_, error) => finish(error),
    };
    if (signal.aborted) {
      finish(signal.reason);
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    (connection.client as Client).dispatch(optionsOf(message), handler);
  });
}

const optionsOf = (message: Message): Dispatcher.DispatchOptions => ({
  method: message.method,
  path: message.path,
  headers: message.headers as string[],
  body: message.body,
  headersTimeout: message.headersTimeoutMs,
  bodyTimeout: message.bodyTimeoutMs,
});
