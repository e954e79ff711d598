// Owns: the Engine API as requests over a UNIX socket: Docker's, and what Podman serves of it.
// Refuses: to say what an answer means, to send anything twice, and the docker command.
import type { Dispatcher, Pool } from 'undici';

export interface EngineApi {
  /** Rejects with an `EngineTrouble` when there is no answer; any status is an answer. */
  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<EngineAnswer>;
  /** Hands the body of an answer over as it comes; a status other than 200 is answered and its body dropped. */
  stream(path: string, onData: (chunk: Buffer) => void, signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

export interface EngineAnswer {
  readonly status: number;
  /** What the JSON says; undefined where there is none. */
  readonly body: unknown;
  /** What the engine says about a failure. */
  readonly message: string;
}

/** There is no engine, or it went away. `sent` says whether it may have heard the request. */
export type EngineTrouble = Error & { readonly sent: boolean };

export const isEngineTrouble = (thrown: unknown): thrown is EngineTrouble =>
  thrown instanceof Error && 'sent' in thrown && typeof thrown.sent === 'boolean';

export function createEngineApi(socket: string): EngineApi {
  let opening: Promise<Pool> | undefined;
  let closed = false;
  const pool = () => {
    opening ??= import('undici/lib/dispatcher/pool.js').then(
      // Nothing is asked for long but `wait` and `logs`, and those are meant to last.
      ({ default: EnginePool }) =>
        new EnginePool('http://engine', { socketPath: socket, headersTimeout: 0, bodyTimeout: 0 }),
    );
    return opening;
  };
  return {
    async call(method, path, body) {
      if (closed) throw trouble('the backend is closed', false);
      const chunks: Buffer[] = [];
      const json = body === undefined ? null : JSON.stringify(body);
      const status = await send(await pool(), { method, path, body: json }, (chunk) => chunks.push(chunk));
      return readAnswer(status, Buffer.concat(chunks).toString());
    },
    async stream(path, onData, signal) {
      if (closed) throw trouble('the backend is closed', false);
      return send(await pool(), { method: 'GET', path, body: null }, onData, signal);
    },
    async close() {
      closed = true;
      await (await opening)?.destroy();
    },
  };
}

function send(
  pool: Pool,
  { method, path, body }: { method: string; path: string; body: string | null },
  onData: (chunk: Buffer) => void,
  signal?: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        if (signal?.aborted) controller.abort(signal.reason);
        else signal?.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
      },
      onResponseStart(_, code) {
        status = code;
      },
      onResponseData: (_, chunk) => onData(chunk as Buffer),
      onResponseEnd: () => resolve(status),
      onResponseError(_, error) {
        reject(signal?.aborted ? signal.reason : trouble(error.message, wasSent(error)));
      },
    };
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    pool.dispatch({ method: method as Dispatcher.HttpMethod, path, body, headers }, handler);
  });
}

/** What a connection that never came about is called; anything else may have happened later. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'EACCES',
  'EAGAIN',
  'ENOTSOCK',
]);
const wasSent = (error: Error) => !NOT_CONNECTED.has((error as NodeJS.ErrnoException).code ?? '');

const trouble = (message: string, sent: boolean): EngineTrouble =>
  Object.assign(new Error(message), { sent });

function readAnswer(status: number, text: string): EngineAnswer {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Some answers are plain text or empty.
  }
  const said = (body as { message?: unknown } | undefined)?.message ?? text;
  return { status, body, message: status < 400 ? '' : String(said).trim() };
}
