// Owns: a guarded request from its first check to its answer: hops, attempts, what they cost, and how often each host may be asked.
// Refuses: a connection that policy was not asked about, and an address that was not checked for it.
import type { CallScope } from '../../contract/capability.ts';
import { fail } from '../../contract/errors.ts';
import { type HttpHop, type HttpRequest, type HttpResponse, parseHttpUrl } from '../../contract/http.ts';
import { type Connections, createConnections } from './connections.ts';
import { type RequestDeadline, startRequestDeadline } from './deadline.ts';
import type { LookupHost, Place, PlaceChecker, ResolveHost } from './dial.ts';
import { createHostResolver, createPlaceChecker } from './dial.ts';
import type { ResponseHead } from './exchange.ts';
import { placeOf, toHttpFailure } from './failures.ts';
import { checkHeaders } from './request-headers.ts';
import type { Outgoing } from './retry.ts';
import { isIdempotent, isLostConnection, isPassing, locationOf, nextHop, retryDelay } from './retry.ts';
import { type SendLimits, send } from './send.ts';

export interface HttpClientOptions {
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

export interface HttpClient {
  request(scope: CallScope, request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

interface Site {
  readonly resolve: ResolveHost;
  readonly places: PlaceChecker;
  readonly rate: RateLimit;
  readonly connections: Connections;
}

/** One request on its way through its hops. */
interface Journey {
  readonly scope: CallScope;
  readonly first: Outgoing;
  readonly deadline: RequestDeadline;
  readonly limits: SendLimits;
  readonly retries: number;
  /** Milliseconds spent on names so far. */
  dns: number;
}

const TIMEOUT_MS = 15_000;
const CONNECT_MS = 10_000;
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_REDIRECTS = 3;
const RETRIES = 2;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export async function createHttpClient(options: HttpClientOptions): Promise<HttpClient> {
  const { default: Client } = await import('undici/lib/dispatcher/client.js');
  const site: Site = {
    resolve: createHostResolver(options.lookup, options.keepAddressesMs),
    places: createPlaceChecker(),
    rate: createRateLimit({ perSecond: 50, burst: 100, maxWaitMs: 2_000, ...options.rate }),
    connections: createConnections({
      Client,
      extraCa: options.extraCa,
      maxPerKey: options.maxConnectionsPerHost ?? 32,
      maxIdle: 64,
    }),
  };
  const maxArtifactBytes = options.maxArtifactBytes ?? 1024 ** 3;
  return {
    async request(scope, request) {
      const first = outgoingOf(request);
      const deadline = startRequestDeadline(request.timeoutMs ?? TIMEOUT_MS, placeOf(first.target), [
        scope.signal,
        request.signal,
      ]);
      const limits: SendLimits = {
        connectMs: request.connectTimeoutMs ?? CONNECT_MS,
        headersMs: request.headersTimeoutMs ?? 0,
        bodyMs: request.bodyTimeoutMs ?? 0,
        maxBytes: request.maxBytes ?? MAX_BYTES,
        onData: request.onData,
        artifact: request.toArtifact
          ? { objects: scope.spills ?? scope.objects, maxBytes: maxArtifactBytes }
          : undefined,
      };
      const journey: Journey = {
        scope,
        first,
        deadline,
        limits,
        retries: request.retries ?? RETRIES,
        dns: 0,
      };
      try {
        return await travel(site, journey, Math.min(request.maxRedirects ?? MAX_REDIRECTS, MAX_REDIRECTS));
      } finally {
        deadline.clear();
      }
    },
    close: () => site.connections.close(),
  };
}

function outgoingOf(request: HttpRequest): Outgoing {
  const method = (request.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) {
    const message = `Cannot request with method ${JSON.stringify(method.slice(0, 32))}: it is none of ${[...METHODS].join(', ')}`;
    throw fail('http.url', message);
  }
  const { body } = request;
  return {
    ...parseHttpUrl(request.url),
    method,
    headers: checkHeaders(request.headers),
    body: body === undefined ? null : typeof body === 'string' ? Buffer.from(body) : body,
  };
}

async function travel(site: Site, journey: Journey, maxRedirects: number): Promise<HttpResponse> {
  const started = performance.now();
  const redirects: HttpHop[] = [];
  for (let outgoing = journey.first; ; ) {
    const { answer, attempts } = await arrive(site, journey, outgoing, maxRedirects > 0);
    const { head } = answer;
    const location = maxRedirects > 0 ? locationOf(head) : undefined;
    if (location === undefined) {
      return {
        status: head.status,
        headers: answer.headers,
        body: answer.bytes,
        truncated: answer.truncated,
        ...(answer.artifact ? { artifact: answer.artifact } : {}),
        url: outgoing.url.href,
        redirects,
        address: answer.address,
        attempts,
        timings: { dns: journey.dns, ...answer.timings, total: performance.now() - started },
      };
    }
    if (redirects.length >= maxRedirects) {
      const message = `Cannot follow the redirect of ${outgoing.url.origin}: there were already ${maxRedirects}`;
      throw fail('http.redirects', message, { redirects: redirects.map(({ url }) => new URL(url).origin) });
    }
    redirects.push({ status: head.status, url: outgoing.url.href });
    outgoing = nextHop(outgoing, head.status, location);
  }
}

/** One hop: checked, then tried until there is an answer or no more sense in trying. */
async function arrive(site: Site, journey: Journey, outgoing: Outgoing, follows: boolean) {
  const { deadline, retries, limits } = journey;
  const repeatable = isIdempotent(outgoing.method);
  for (let attempts = 1; ; attempts += 1) {
    const again = (head?: ResponseHead): number | undefined =>
      repeatable && attempts <= retries ? retryDelay(attempts, deadline.remaining(), head) : undefined;
    // Checked for every attempt: a name may lead elsewhere by now.
    const place = await check(site, journey, outgoing);
    if (!place.private) await deadline.sleep(site.rate.take(outgoing.target.host, performance.now()));
    let delay: number | undefined;
    const keep = (head: ResponseHead): boolean => {
      delay = isPassing(head) ? again(head) : undefined;
      return delay === undefined && !(follows && locationOf(head) !== undefined);
    };
    const sent = await send(site.connections, { place, outgoing, limits, deadline, keep });
    if ('error' in sent) {
      deadline.signal.throwIfAborted();
      delay = isLostConnection(sent.error) ? again() : undefined;
      if (delay === undefined)
        throw toHttpFailure(sent.error, { target: outgoing.target, sent: sent.sent, repeatable });
    } else if (delay === undefined) return { answer: sent, attempts };
    await deadline.sleep(delay);
  }
}

/** Asks policy, resolves the name and checks where it leads. */
async function check(site: Site, journey: Journey, { target }: Outgoing): Promise<Place> {
  const { scope, first, deadline } = journey;
  const declared = { kind: 'net.connect', ...first.target, method: first.method } as const;
  // A redirect is like a link: the call declared where it began, and policy is asked where it leads.
  if (target === first.target) scope.admit(declared);
  else scope.admit(declared, { kind: 'net.connect', ...target });
  const started = performance.now();
  let found = site.resolve(target.host);
  if (found instanceof Promise) {
    try {
      found = await deadline.race(found);
    } catch (error) {
      deadline.signal.throwIfAborted();
      throw toHttpFailure(error as Error, { target, sent: false, repeatable: true });
    }
    journey.dns += performance.now() - started;
  }
  return site.places.check(target, found, scope.privateHost?.(target) ?? false);
}

interface RateLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Who would have to wait for longer is refused. */
  readonly maxWaitMs: number;
}

interface RateLimit {
  /** Takes a turn; answers how many milliseconds to wait for it. Throws `http.rate`. */
  take(host: string, now: number): number;
}

const MAX_HOSTS = 1024;

export function createRateLimit({ perSecond, burst, maxWaitMs }: RateLimitOptions): RateLimit {
  /** When a bucket was, or will be, empty of debts: the time at which its host has `burst` turns again. */
  const fullAt = new Map<string, number>();
  const each = 1000 / perSecond;
  return {
    take(host, now) {
      const full = Math.max(fullAt.get(host) ?? 0, now) + each;
      const wait = Math.max(0, full - now - burst * each);
      if (wait > maxWaitMs) {
        const message = `Cannot request ${host}: it was asked more than ${perSecond} times a second`;
        throw fail('http.rate', message, { host, retry_after_ms: Math.ceil(wait) });
      }
      if (fullAt.size >= MAX_HOSTS) for (const [name, at] of fullAt) if (at <= now) fullAt.delete(name);
      fullAt.set(host, full);
      return wait;
    },
  };
}
