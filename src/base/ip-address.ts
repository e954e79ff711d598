// Owns: what kind of place an IP address is: public, private, a metadata service, or no place to connect to at all.
// Refuses: names; whoever asks has resolved them.
import ipaddr from 'ipaddr.js';

/**
 * `private` addresses are admitted where policy names the host with `private: true`. `metadata` (the services of clouds,
 * and link-local, where most of them live) only where policy names the very address: a name must not lead there.
 * `never` is nothing that a connection goes to, or an alias of this machine.
 */
export type AddressKind = 'public' | 'private' | 'metadata' | 'never';

export interface AddressClass {
  readonly kind: AddressKind;
  /** For people: `loopback`, `private`, `metadata`. */
  readonly range: string;
}

type Address = ReturnType<typeof ipaddr.parse>;

/** `address` as the resolver or a parsed URL gives it, without brackets; a zone (`%eth0`) is allowed. */
export function classifyAddress(address: string): AddressClass {
  const parsed = parse(address);
  if (!parsed) return { kind: 'never', range: 'unreadable' };
  if (METADATA.has(parsed.toNormalizedString())) return { kind: 'metadata', range: 'metadata' };
  return parsed.kind() === 'ipv6' ? classifyV6(parsed as ipaddr.IPv6) : classifyRange(parsed.range());
}

/** What kind of place a URL's host is by itself; undefined for names that have to be looked up. */
export function classifyHost(host: string): AddressClass | undefined {
  if (host === 'localhost' || host.endsWith('.localhost')) return { kind: 'private', range: 'loopback' };
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  return /^[\d.]+$|:/.test(literal) ? classifyAddress(literal) : undefined;
}

/** One spelling for each address, without its zone. Undefined where it is none. */
export const normalAddress = (address: string): string | undefined => parse(address)?.toNormalizedString();

function parse(address: string): Address | undefined {
  const text = address.replace(/%.*$/, '');
  // The library takes ::8.8.8.8, which leads nowhere, for the mapped ::ffff:8.8.8.8.
  if (/^::[0-9.]+$/.test(text) && text.includes('.')) return undefined;
  return ipaddr.isValid(text) ? ipaddr.parse(text) : undefined;
}

function classifyV6(address: ipaddr.IPv6): AddressClass {
  const embedded = embeddedV4(address);
  if (embedded) return classifyAddress(embedded);
  const range = address.range();
  // The library takes for unicast whatever it does not know; public addresses are those of 2000::/3.
  if (range === 'unicast' && !address.match(GLOBAL, 3)) return { kind: 'never', range: 'reserved' };
  return classifyRange(range);
}

/** The IPv4 address that a mapped or a NAT64 address leads to; that one is judged. */
function embeddedV4(address: ipaddr.IPv6): string | undefined {
  if (!address.isIPv4MappedAddress() && !address.match(NAT64, 96)) return undefined;
  return address.toByteArray().slice(12).join('.');
}

function classifyRange(range: string): AddressClass {
  return { kind: KINDS[range] ?? 'never', range: NAMES[range] ?? range };
}

const GLOBAL = ipaddr.IPv6.parse('2000::');
const NAT64 = ipaddr.IPv6.parse('64:ff9b::');

/** By the library's word for a range. What is not here (multicast, 6to4, teredo, discard, …) is never connected to. */
const KINDS: { readonly [range: string]: AddressKind } = {
  unicast: 'public',
  private: 'private',
  loopback: 'private',
  uniqueLocal: 'private',
  carrierGradeNat: 'private',
  // Documentation and benchmarks: some virtual private networks hand these out.
  reserved: 'private',
  benchmarking: 'private',
  linkLocal: 'metadata',
};

const NAMES: { readonly [range: string]: string } = {
  linkLocal: 'link-local',
  uniqueLocal: 'unique-local',
  carrierGradeNat: 'carrier-grade NAT',
};

/** Metadata services outside of the link-local ranges: Azure, Alibaba, Oracle, AWS, Google. */
const METADATA = new Set(
  ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'].map((address) =>
    ipaddr.parse(address).toNormalizedString(),
  ),
);
