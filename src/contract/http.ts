// Owns: what a guarded HTTP exchange is, where a URL leads, and what the proxy of sandboxed programs promises.
// Refuses: to match hosts (policy) and to open connections (capabilities/http).
import type { EffectShapes } from './effect.ts';
import { fail } from './errors.ts';
import type { ObjectId } from './object-store.ts';
import type { SandboxProxy } from './sandbox.ts';

/**
 * HTTP and HTTPS, for one call. Every hop asks `scope.admit`; every address is checked, and the one that was checked is
 * the one connected to. Private, loopback, link-local and otherwise not public addresses are refused (`http.address`)
 * unless a domain rule names the host with `private: true`. Certificates are always verified. Proxies in the environment
 * are not looked at.
 */
export interface HttpHandle {
  /** Any status is an answer; it rejects only where there is none, or none that may be had. */
  request(request: HttpRequest): Promise<HttpResponse>;
}

export interface HttpRequest {
  /** http or https, without user and password (`http.url`). */
  readonly url: string;
  /** By default GET. CONNECT and TRACE are refused. */
  readonly method?: string;
  /**
   * Names in any case. Those that frame or route a message (Host, Connection, Content-Length, Transfer-Encoding, Proxy-*, …)
   * and values with line breaks are refused with `http.header`.
   */
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Uint8Array;
  /** For everything: waiting, redirects, retries, the body. By default 15 s. `time.deadline` when it runs out. */
  readonly timeoutMs?: number;
  /** Narrower limits of one connection: until it stands, until the headers are there, between two pieces of the body. */
  readonly connectTimeoutMs?: number;
  readonly headersTimeoutMs?: number;
  readonly bodyTimeoutMs?: number;
  /** The most bytes of the decoded body to answer with. By default 5 MiB. */
  readonly maxBytes?: number;
  /** 0 to 3, by default 3. With 0 a redirect is an answer like any other. */
  readonly maxRedirects?: number;
  /**
   * How often an idempotent request is tried again after a lost connection, 502, 503 or 504. By default 2. Requests that
   * are not idempotent are never sent twice.
   */
  readonly retries?: number;
  /** Keeps the whole decoded body as an object, also beyond `maxBytes`. */
  readonly toArtifact?: boolean;
  /**
   * Every piece of the decoded body as it comes, for answers that go on for long; the answer's own `body` is empty then,
   * and `maxBytes` does not hold. Not of answers that lead on or are tried again. What it throws ends the request. While
   * a promise that it answers has not settled, no more is read.
   */
  readonly onData?: (chunk: Uint8Array, head: HttpHead) => unknown;
  /** Aborts beside the call's own signal. */
  readonly signal?: AbortSignal;
}

/** What is known of an answer before its body. Names of headers are in lower case. */
export interface HttpHead {
  readonly status: number;
  readonly headers: HttpResponse['headers'];
}

export interface HttpResponse {
  readonly status: number;
  /**
   * Names in lower case; a header that came more than once is a list. Of a body that was decoded, `content-encoding` and
   * `content-length` are left out: they describe what is no longer there.
   */
  readonly headers: { readonly [name: string]: string | readonly string[] };
  /** Decoded (gzip, deflate, br, zstd), and cut at `maxBytes`. */
  readonly body: Uint8Array;
  /** The body was longer than `maxBytes`. */
  readonly truncated: boolean;
  /** With `toArtifact`: the whole body. `truncated` when even that reached the host's limit. */
  readonly artifact?: { readonly id: ObjectId; readonly size: number; readonly truncated: boolean };
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly redirects: readonly HttpHop[];
  /** The address that answered. */
  readonly address: string;
  /** How many requests were sent for the last hop: 1 where nothing was tried again. */
  readonly attempts: number;
  readonly timings: HttpTimings;
}

/** An answer that led on. */
export interface HttpHop {
  readonly status: number;
  /** As asked, before the redirect. */
  readonly url: string;
}

/** Milliseconds. `dns` and `total` are over all hops; the others are of the last exchange, 0 on a connection that was kept. */
export interface HttpTimings {
  readonly dns: number;
  readonly connect: number;
  readonly tls: number;
  /** From the sent request to the headers of the answer. */
  readonly firstByte: number;
  readonly total: number;
  /** The connection was already there. */
  readonly reused: boolean;
}

/** Where a connection leads, as effects and policy name it. An IPv6 address is in brackets. */
export type HttpTarget = EffectShapes['net.connect'];

/** A URL that may be asked for, and where it leads. */
export interface ParsedHttpUrl {
  readonly url: URL;
  readonly target: HttpTarget;
}

const DEFAULT_PORTS: { readonly [scheme: string]: number } = { http: 80, https: 443 };
const MAX_URL = 8192;

/**
 * Reads a URL as browsers do: odd spellings of an address (`2130706433`, `0x7f.1`) become the address, names beyond ASCII
 * become what is looked up, one dot at the end is dropped. Throws `http.url`; the message never repeats a password.
 */
export function parseHttpUrl(text: string, base?: URL): ParsedHttpUrl {
  const refuse = (fact: string) => fail('http.url', `Cannot request this URL: ${fact}`);
  if (text.length > MAX_URL) throw refuse(`it is longer than ${MAX_URL} characters`);
  if (/[\x00-\x20\x7f]/.test(text)) throw refuse('it holds spaces or control characters');
  const url = URL.parse(text, base?.href);
  if (!url) throw refuse('it cannot be understood');
  const scheme = url.protocol.slice(0, -1);
  const port = Number(url.port) || DEFAULT_PORTS[scheme];
  if (port === undefined || !Object.hasOwn(DEFAULT_PORTS, scheme))
    throw refuse(`its scheme is "${scheme.slice(0, 32)}"; only http and https can be requested`);
  if (url.port === '0') throw refuse('0 is not a port');
  if (url.username || url.password)
    throw refuse('it holds a user or a password; send an Authorization header');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname;
  if (host === '' || host.length > 253 || /^\.|\.\.|\.$/.test(host)) throw refuse('it does not name a host');
  // The setter parses again: only where there is something to take away.
  if (url.hash !== '') url.hash = '';
  return { url, target: { scheme, host, port } };
}

// ------------------------------------------------------------------------------------------- egress

/**
 * A forward proxy (CONNECT, and plain HTTP by absolute URL) that sandboxed programs get as their only way out. It asks for
 * every connection, resolves names itself, refuses addresses as `HttpHandle` does, and lets only TLS for the host that
 * was asked for through a tunnel.
 */
export interface EgressProxy {
  /** Where it listens; what a sandbox's `network.proxy` takes. */
  readonly address: SandboxProxy;
  /** Ends every connection and stops listening. Closing twice is fine. */
  close(): Promise<void>;
}

export interface EgressProxyOptions {
  /** A unix socket's path, or a port of 127.0.0.1 (0 for any free one). */
  readonly listen: { readonly socket: string } | { readonly port: number };
  /** Asked for each connection, with the host as written in a parsed URL. A throw is a refusal. */
  allow(target: HttpTarget): EgressDecision;
  /** Told once for each connection, when it has ended. */
  record?(connection: EgressConnection): void;
  /** Connections at once; more are answered with 503. By default 128. */
  readonly maxConnections?: number;
  /** A connection on which nothing moves for so long is closed. By default 60 s. */
  readonly idleTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
}

export interface EgressDecision {
  readonly allow: boolean;
  /** The host may resolve to addresses that are not public. */
  readonly private?: boolean;
  /** For the program that asked, and for the record. */
  readonly message?: string;
  /** Of a refusal: the haft.yaml lines that would lift it. */
  readonly admit?: string;
}

export interface EgressConnection {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  /** The address that was connected to. Absent where none was. */
  readonly address?: string;
  readonly outcome: EgressOutcome;
  /** For people, where the outcome is not `done`. */
  readonly message?: string;
  /** The haft.yaml lines that would have admitted it, where it was denied and some can. */
  readonly admit?: string;
  /** From the program to the host, and back; of tunnels what went through, of requests the bodies. */
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly startedMs: number;
  readonly durationMs: number;
}

/**
 * `denied`: policy or its address says no. `mismatch`: a tunnel was not TLS for its host. `malformed`: not a request that
 * a proxy takes. `busy`: too many at once. `failed`: the host could not be reached or broke off.
 */
export type EgressOutcome =
  | 'done'
  | 'denied'
  | 'mismatch'
  | 'malformed'
  | 'busy'
  | 'failed'
  | 'idle'
  | 'closed';
