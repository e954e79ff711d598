// Owns: what was seen from inside a container before its program began, as facts, and what policy demands of them.
// Refuses: to trust the entry alone: what it told is compared here again.
import { OBSERVED_WORD, WRITABLE } from './entry-script.ts';

export interface Observation {
  /** Inheritable, permitted, effective, bounding and ambient, in hex. */
  readonly capabilities: readonly string[];
  readonly noNewPrivileges: boolean;
  /** 2 is a filter. */
  readonly seccomp: number;
  readonly user: string;
  readonly interfaces: readonly string[];
  /** Whether its network is another one than the machine's: a loopback can be shared as well. */
  readonly ownNetwork: boolean;
  readonly readOnlyRoot: boolean;
  readonly readOnlyInputs: boolean;
  readonly writableMounts: readonly string[];
}

const NO_CAPABILITIES = Array.from({ length: 5 }, () => '0'.repeat(16)).join(',');

/** The line that the entry must see. `user` is `uid:gid`. */
export function demandedFacts(user: string): string {
  const [uid, gid] = user.split(':');
  return `caps=${NO_CAPABILITIES} nnp=1 seccomp=2 uid=${uid} gid=${gid} interfaces=lo network=own root=ro inputs=ro extra=`;
}

/** Undefined when the line is none that an entry writes. */
export function parseObservation(line: string): Observation | undefined {
  const [word, ...pairs] = line.trimEnd().split(' ');
  if (word !== OBSERVED_WORD) return undefined;
  const facts = new Map(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const list = (name: string) => (facts.get(name) ?? '').split(',').filter((value) => value !== '');
  return {
    capabilities: list('caps'),
    noNewPrivileges: facts.get('nnp') === '1',
    seccomp: Number(facts.get('seccomp') ?? Number.NaN),
    user: `${facts.get('uid')}:${facts.get('gid')}`,
    interfaces: list('interfaces'),
    ownNetwork: facts.get('network') === 'own',
    readOnlyRoot: facts.get('root') === 'ro',
    readOnlyInputs: facts.get('inputs') === 'ro',
    writableMounts: list('writable').sort(),
  };
}

/** The facts that are not as policy demands, in words; empty when all are. */
export function mismatches(
  seen: Observation,
  user: string,
  alsoWritable: readonly string[] = [],
): readonly string[] {
  const writable: readonly string[] = [...WRITABLE, ...alsoWritable];
  const extra = seen.writableMounts.filter((at) => !writable.includes(at));
  const checks: readonly (readonly [holds: boolean, otherwise: string])[] = [
    [seen.capabilities.join(',') === NO_CAPABILITIES, `it has capabilities (${seen.capabilities.join(' ')})`],
    [seen.noNewPrivileges, 'it may gain privileges'],
    [seen.seccomp === 2, `no filter of system calls is set (seccomp ${seen.seccomp})`],
    [seen.user === user, `it runs as ${seen.user}, not as ${user}`],
    [seen.interfaces.join(',') === 'lo', `it has the network interfaces ${seen.interfaces.join(' ')}`],
    [seen.ownNetwork, 'it shares the network of the machine'],
    [seen.readOnlyRoot, 'its root can be written'],
    [seen.readOnlyInputs, 'its inputs can be written'],
    [extra.length === 0, `it can write to ${extra.join(' ')}`],
  ];
  return checks.flatMap(([holds, otherwise]) => (holds ? [] : [otherwise]));
}
