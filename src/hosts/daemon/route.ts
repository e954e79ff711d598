// Owns: what a route of the HTTP door is: who may ask, what it takes, what it answers.
// Refuses: sockets and headers; create-daemon.ts has those.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorMessage } from '../../contract/envelope.ts';
import { fail, toErrorEntry } from '../../contract/errors.ts';
import type { JsonSchema, MaybePromise, SchemaCompiler } from '../../contract/json.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import type { LivingSite } from '../../preset/operation-handles.ts';

/** `calls` is what an agent holds. `management` is a person's: it approves calls, and says which tools there are. */
export type RouteToken = 'none' | 'calls' | 'management' | 'either';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `:name` for what varies. */
  readonly path: string;
  /** Asked before anything of the body is read. */
  readonly token: RouteToken | (() => Promise<RouteToken>);
  /** For the reference: what it answers. */
  readonly about: string;
  /** What has to fit; absent: it takes none, or knows by itself. Values of the query are texts. */
  readonly query?: JsonSchema;
  readonly body?: JsonSchema;
  /** JSON, or what `streamed` makes. */
  answer(asked: Asked, site: DaemonSite): unknown;
}

export interface Asked {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** It came with the token for management. */
  readonly isPerson: boolean;
  /** Aborts when the caller hangs up before the answer. */
  signal(): AbortSignal;
  /** The status of the answer, where it is not 200. */
  status(code: number): void;
}

export interface DaemonSite {
  readonly runtime: DefaultRuntime;
  readonly version: string;
  /** Nothing may differ from haft.lock. */
  readonly frozen: boolean;
  readonly living: LivingSite;
  readonly schemas: SchemaCompiler;
}

/** Anything under a path of its own, behind the same door: Host, Origin and token are checked before, and so is the size of a body. */
export interface Mount {
  /** Everything below it is the mount's: `/dashboard` has `/dashboard` and `/dashboard/app.js`. */
  readonly path: string;
  readonly token: RouteToken;
  /** Answers by itself: files, a stream, another protocol. The body is the request's, and ends where it is over the limit. */
  handle(request: IncomingMessage, response: ServerResponse): MaybePromise<void>;
  /** Takes the connection over, as a WebSocket does. Without it an upgrade is refused. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** A body that is sent as it is made. */
export interface Streamed {
  readonly contentType: string;
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

const streams = new WeakSet<object>();

export function streamed(contentType: string, pieces: Streamed['pieces']): Streamed {
  const made = { contentType, pieces };
  streams.add(made);
  return made;
}

export const isStreamed = (answer: unknown): answer is Streamed =>
  typeof answer === 'object' && answer !== null && streams.has(answer);

export function errorMessage(thrown: unknown) {
  const { code, reason, message, details } = toErrorEntry(thrown);
  return {
    type: 'ErrorMessage',
    code,
    message,
    reason,
    ...(details ? { details } : {}),
  } satisfies ErrorMessage;
}

/** Throws `input.schema` with everything that does not fit. */
export async function checkAsked(
  { query, body }: Pick<Route, 'query' | 'body'>,
  asked: Pick<Asked, 'query' | 'body'>,
  schemas: SchemaCompiler,
): Promise<void> {
  for (const [schema, value, what] of [
    [query, asked.query, 'query'],
    [body, asked.body, 'body'],
  ] as const) {
    if (schema === undefined) continue;
    const problems = await (await schemas.compile(schema))(value);
    if (problems.length === 0) continue;
    const list = problems.map(({ path, message }) => `${what}${path} ${message}`).join('; ');
    throw fail('input.schema', `Cannot answer: ${list}`);
  }
}
