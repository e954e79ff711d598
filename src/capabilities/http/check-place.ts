// Owns: which of a host's addresses may be connected to.
// Refuses: hosts that have none, with the line of haft.yaml that would admit them.

import { type AddressClass, classifyAddress } from '../../base/ip-address.ts';
import { fail } from '../../contract/errors.ts';
import type { HttpTarget } from '../../contract/http.ts';
import { type HostAddress, literalAddress } from './resolve-host.ts';

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
