// Owns: from a host to its addresses, looked up once and kept for a short while.
// Refuses: to judge them, and to ask twice for one connection: what is answered here is what is checked and dialled.
import { promises as dns } from 'node:dns';
import { isIP } from 'node:net';
import type { MaybePromise } from '../../contract/json.ts';

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
