// Owns: what a route of the HTTP door is: who may ask, what it takes, what it answers.
// Refuses: sockets and headers; create-daemon.ts has those.
import type { InTurn } from '../../base/turns.ts';
import { fail } from '../../contract/errors.ts';
import type { JsonSchema, SchemaCompiler } from '../../contract/json.ts';
import type { DefaultRuntime } from '../../preset/default.ts';
import type { FindTools } from '../../runtime/tool-search/create-tool-search.ts';

/** `calls` is what an agent holds. `management` is a person's: it approves calls, and says which tools there are. */
export type RouteToken = 'none' | 'calls' | 'management';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `:name` for what varies. */
  readonly path: string;
  readonly token: RouteToken;
  /** For the reference: what it answers. */
  readonly about: string;
  /** What has to fit; absent: it takes none, or knows by itself. Values of the query are texts. */
  readonly query?: JsonSchema;
  readonly body?: JsonSchema;
  answer(asked: Asked, site: DaemonSite): unknown;
}

export interface Asked {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
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
  /** Changes of the packs do not run beside each other. */
  readonly inTurn: InTurn;
  /** Its index is made once, and follows the tools. */
  finder(): Promise<FindTools>;
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
