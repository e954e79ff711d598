// Owns: opening one TCP or TLS connection to an address that was checked, and proving that it led there.
// Refuses: names that were not resolved before, and certificates that do not verify, whatever the environment says.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates, type TLSSocket } from 'node:tls';
import { normalAddress } from '../../base/ip-address.ts';
import { type HostAddress, literalAddress } from './resolve-host.ts';

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
