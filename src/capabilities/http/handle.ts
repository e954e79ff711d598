// Owns: the HTTP capability as the preset wires it: a handle for each call, one set of connections for all.
// Refuses: to load the client before the first request: it costs more than a whole cold start.
import type { CallScope } from '../../contract/capability.ts';
import type { HttpHandle } from '../../contract/http.ts';
import type { HttpClient } from './client.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import type { LookupHost } from './resolve-host.ts';

export interface HttpCapabilityOptions {
  /** PEM certificates that are trusted beside the usual ones. */
  readonly extraCa?: readonly string[];
  /** Asks for the addresses of a name; by default the system. */
  readonly lookup?: LookupHost;
  /** How long their answer is kept, in milliseconds. */
  readonly keepAddressesMs?: number;
  /** For each public host. By default 50 a second, 100 at once, refused after 2 s of waiting. */
  readonly rate?: Partial<RateLimitOptions>;
  /** The most that `toArtifact` keeps. By default 1 GiB. */
  readonly maxArtifactBytes?: number;
  /** At once to one host. By default 32. */
  readonly maxConnectionsPerHost?: number;
}

export interface HttpCapability {
  /** The factory of `Capabilities.http`. */
  open(scope: CallScope): HttpHandle;
  /** Closes all connections; requests under way fail. Idle ones never keep a process alive. */
  close(): Promise<void>;
}

export function createHttpCapability(options: HttpCapabilityOptions = {}): HttpCapability {
  let loading: Promise<HttpClient> | undefined;
  const load = (): Promise<HttpClient> => {
    loading ??= import('./client.ts').then(({ createHttpClient }) => createHttpClient(options));
    return loading;
  };
  return {
    open: (scope) => ({ request: async (request) => (await load()).request(scope, request) }),
    async close() {
      await (await loading)?.close();
    },
  };
}
