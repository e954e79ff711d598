// Owns: from a host to its addresses, looked up once and kept for a short while; which of them may be connected to; and opening one
// TCP or TLS connection to an address that was checked, and proving that it led there.
// Refuses: names that were not resolved before, hosts with no address that may be reached (with the line of haft.yaml that would
// admit them), and certificates that do not verify, whatever the environment says.
import { promises as dns } from 'node:dns';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates, type TLSSocket } from 'node:tls';
import { type AddressClass, classifyAddress, normalAddress } from '../../base/ip-address.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpTarget } from '../../contract/http.ts';
import type { MaybePromise } from '../../contract/json.ts';

export interface DialSpec {
  /** As in a URL: IPv6 in brackets. Certificates are verified for it. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** Tried in this order; the next one begins when the one before is slow. */
  readonly addresses: readonly HostAddress[];
  /** PEM certificates that are trusted beside the usual ones. */
  readonly extraCa?: readonly string[];
  readonly timeoutMs: number;
}

export interface Dialled {
  readonly address: string;
  /** Milliseconds. */
  readonly connect: number;
  readonly tls: number;
}

/** Calls back once. Whoever loses interest destroys the socket. */
export function dial(
  spec: DialSpec,
  done: (error: Error | null, socket: Socket, dialled?: Dialled) => void,
): Socket {
  const started = performance.now();
  const { secure, addresses, port, timeoutMs } = spec;
  const literal = literalAddress(spec.host);
  const where = {
    host: literal?.address ?? spec.host,
    port,
    lookup: pinnedLookup(addresses),
    autoSelectFamily: addresses.length > 1,
    noDelay: true,
    keepAlive: true,
  };
  const socket: Socket = secure
    ? connectTls({
        ...where,
        ...(literal ? {} : { servername: spec.host }),
        ...(spec.extraCa ? { ca: [...getCACertificates('default'), ...spec.extraCa] } : {}),
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: true,
        minVersion: 'TLSv1.2',
      })
    : connectTcp(where);

  let connected = started;
  let finished = false;
  const finish = (error: Error | null) => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    if (error) {
      socket.destroy();
      done(error, socket);
      return;
    }
    const { remoteAddress: address = '' } = socket;
    if (!isOneOf(address, addresses)) {
      finished = false;
      finish(Object.assign(new Error('connected to another address'), { code: 'HAFT_OTHER_ADDRESS' }));
      return;
    }
    const now = performance.now();
    done(null, socket, { address, connect: connected - started, tls: secure ? now - connected : 0 });
  };
  const timer = setTimeout(
    () => finish(Object.assign(new Error('connecting took too long'), { code: 'HAFT_CONNECT_TIMEOUT' })),
    timeoutMs,
  );
  socket.on('error', finish);
  socket.once('close', () => finish(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  socket.once('connect', () => {
    connected = performance.now();
    if (!secure) finish(null);
  });
  if (secure) (socket as TLSSocket).once('secureConnect', () => finish(null));
  return socket;
}

type LookupAnswer = (error: Error | null, address: string | HostAddress[], family?: number) => void;

/** Answers with the addresses that were checked, whatever is asked for. Never called for a host that is an address. */
const pinnedLookup =
  (addresses: readonly HostAddress[]) =>
  (_host: string, options: { all?: boolean | undefined }, answer: LookupAnswer): void => {
    const [first] = addresses;
    if (options.all) answer(null, [...addresses]);
    else if (first) answer(null, first.address, first.family);
    else answer(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '');
  };

function isOneOf(address: string, addresses: readonly HostAddress[]): boolean {
  const normal = normalAddress(address);
  return normal !== undefined && addresses.some((one) => normalAddress(one.address) === normal);
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Asks the resolver for every address of a name, in the order in which they should be tried. */
export type LookupHost = (host: string) => Promise<readonly HostAddress[]>;

/** Answers at once where nothing has to be asked. */
export type ResolveHost = (host: string) => MaybePromise<readonly HostAddress[]>;

const KEEP_MS = 10_000;
const MAX_KEPT = 512;

export function createHostResolver(lookup: LookupHost = systemLookup, keepMs = KEEP_MS): ResolveHost {
  const kept = new Map<string, { readonly addresses: readonly HostAddress[]; readonly until: number }>();
  const asked = new Map<string, Promise<readonly HostAddress[]>>();

  const keep = (host: string, addresses: readonly HostAddress[]): readonly HostAddress[] => {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(host, { addresses, until: performance.now() + keepMs });
    return addresses;
  };
  const ask = async (host: string): Promise<readonly HostAddress[]> => {
    try {
      return keep(host, await lookup(host));
    } finally {
      asked.delete(host);
    }
  };
  return (host) => {
    const known = kept.get(host);
    if (known && known.until > performance.now()) return known.addresses;
    const literal = literalAddress(host);
    if (literal) return keep(host, [literal]);
    let answer = asked.get(host);
    if (!answer) {
      answer = ask(host);
      asked.set(host, answer);
    }
    return answer;
  };
}

/** The address that a URL's host is, brackets off; undefined for names. */
export function literalAddress(host: string): HostAddress | undefined {
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  const family = isIP(address);
  return family === 0 ? undefined : { address, family: family === 6 ? 6 : 4 };
}

async function systemLookup(host: string): Promise<readonly HostAddress[]> {
  const found = await dns.lookup(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

/** Where a connection may go: a target, and those of its addresses that were found admissible for it. */
export interface Place {
  readonly target: HttpTarget;
  readonly addresses: readonly HostAddress[];
  /** Policy named the host as private, and none of these is public. */
  readonly private: boolean;
  /** Equal for equal places: what a kept connection belongs to. */
  readonly key: string;
}

export interface PlaceChecker {
  /** Throws `http.address` where nothing is left. `mayBePrivate` is policy's answer for this very target. */
  check(target: HttpTarget, found: readonly HostAddress[], mayBePrivate: boolean): Place;
}

/** Remembers what it found for as long as the same list of addresses is handed to it. */
export function createPlaceChecker(): PlaceChecker {
  const checked = new WeakMap<readonly HostAddress[], Map<string, Place>>();
  return {
    check(target, found, mayBePrivate) {
      const question = `${target.scheme} ${target.host} ${target.port} ${mayBePrivate}`;
      const places = checked.get(found) ?? new Map<string, Place>();
      const known = places.get(question);
      if (known) return known;
      const place = checkPlace(target, found, mayBePrivate);
      checked.set(found, places.set(question, place));
      return place;
    },
  };
}

export function checkPlace(target: HttpTarget, found: readonly HostAddress[], mayBePrivate: boolean): Place {
  const literal = literalAddress(target.host) !== undefined;
  let refused: AddressClass | undefined;
  let isPublic = false;
  const addresses = found.filter(({ address }) => {
    const judged = classifyAddress(address);
    const admitted =
      judged.kind === 'public' ||
      (mayBePrivate && (judged.kind === 'private' || (judged.kind === 'metadata' && literal)));
    if (!admitted) refused ??= judged;
    isPublic ||= judged.kind === 'public';
    return admitted;
  });
  if (addresses.length === 0) throw refusal(target, literal, refused);
  const { scheme, host, port } = target;
  const sorted = addresses.map(({ address }) => address).sort();
  return { target, addresses, private: !isPublic, key: [scheme, host, port, isPublic, ...sorted].join(' ') };
}

function refusal(target: HttpTarget, literal: boolean, refused: AddressClass | undefined) {
  const { scheme, host, port } = target;
  const place = `${scheme}://${host}:${port}`;
  if (!refused) return fail('http.failed', `Cannot connect ${place}: its name has no address`);
  const fact = `${literal ? 'it is' : 'its name leads to'} ${article(refused.range)} ${refused.range} address`;
  const can = refused.kind === 'private' || (refused.kind === 'metadata' && literal);
  return fail('http.address', `Cannot connect ${place}: ${fact}`, {
    host,
    port,
    range: refused.range,
    ...(can ? { admit: admitLine(target) } : {}),
  });
}

const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a');

function admitLine({ scheme, host, port }: HttpTarget): string {
  const usual = port === (scheme === 'https' ? 443 : 80);
  const domain = JSON.stringify(usual ? host : `${host}:${port}`);
  return `network:\n  allowed_domains:\n    - {domain: ${domain}, private: true}\n`;
}
