// Owns: deciding `net.connect`: the host must be on the list of every layer that has one.
// Refuses: addresses; whether a name leads to a private one is checked where the connection is made.
import type { DomainRule } from '../../contract/policy.ts';
import { matchesDomain } from '../../contract/policy-match.ts';
import type { Layer } from '../compile-policy.ts';
import type { Finding } from '../finding.ts';
import type { Decider } from './decider.ts';

const DEFAULT_PORTS: { readonly [scheme: string]: number } = { http: 80, https: 443 };

export const decideNetConnect: Decider<'net.connect'> = (target, { layers, library }) => {
  if (target.host === '*') return decideAnyNetwork(layers);
  const findings: Finding[] = [];
  const grantFor = (layer: Layer, rule: DomainRule) => {
    const kind = library.classifyHost?.(target.host)?.kind ?? 'public';
    // Where the host is an address, what its address asks for is known already; some are never connected to.
    if (kind === 'never') return undefined;
    const whole = kind === 'public' ? rule : { ...rule, private: true };
    const short = Object.keys(whole).length === 1;
    return layer.grant({ network: { allowed_domains: [short ? whole.domain : whole] } });
  };
  for (const layer of layers) {
    if (!layer.domains) continue;
    const matching = layer.domains.filter(({ domain }) => matchesDomain(domain, target));
    for (const { rule, text, verdict } of matching) {
      const { where, ...cited } = layer.cite(rule);
      const grant = grantFor(layer, { domain: text, decision: 'allow' });
      findings.push({ verdict, ...cited, fact: `${where} says ${verdict}`, grant });
    }
    if (matching.length > 0) continue;
    const { where: _, ...cited } = layer.cite('network.allowed_domains');
    const port = target.port === DEFAULT_PORTS[target.scheme] ? '' : `:${target.port}`;
    findings.push({
      verdict: 'deny',
      ...cited,
      reason: 'http.not_allowed',
      fact: `the host is not among network.allowed_domains of ${layer.name}`,
      grant: grantFor(layer, { domain: `${target.host}${port}` }),
    });
  }
  return findings;
};

/** To have a network at all, some host must be granted; which one is decided when a program asks for it. */
function decideAnyNetwork(layers: readonly Layer[]): readonly Finding[] {
  return layers.flatMap((layer): Finding[] => {
    if (!layer.domains) return [];
    const { where, ...cited } = layer.cite('network.allowed_domains');
    if (layer.domains.some(({ verdict }) => verdict !== 'deny')) {
      return [{ verdict: 'allow', ...cited, fact: `${where} names hosts` }];
    }
    const fact = `network.allowed_domains of ${layer.name} names no host`;
    const grant = layer.grant({ network: { allowed_domains: ['example.org'] } });
    return [{ verdict: 'deny', ...cited, reason: 'http.not_allowed', fact, grant }];
  });
}
