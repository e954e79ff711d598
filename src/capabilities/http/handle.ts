// Owns: the HTTP capability as the preset wires it: a handle for each call, one set of connections for all.
// Refuses: to load the client before the first request: it costs more than a whole cold start.
import type { CallScope } from '../../contract/capability.ts';
import type { HttpHandle } from '../../contract/http.ts';
import type { HttpClient, HttpClientOptions } from './client.ts';

export interface HttpCapability {
  /** The factory of `Capabilities.http`. */
  open(scope: CallScope): HttpHandle;
  /** Closes all connections; requests under way fail. Idle ones never keep a process alive. */
  close(): Promise<void>;
}

export function createHttpCapability(options: HttpClientOptions = {}): HttpCapability {
  let loading: Promise<HttpClient> | undefined;
  let client: HttpClient | undefined;
  const load = async (): Promise<HttpClient> => {
    loading ??= import('./client.ts').then(({ createHttpClient }) => createHttpClient(options));
    client = await loading;
    return client;
  };
  return {
    open: (scope) => ({
      // Once it is there, a request leaves within this turn.
      request: async (request) => (client ?? (await load())).request(scope, request),
    }),
    async close() {
      await (await loading)?.close();
    },
  };
}
