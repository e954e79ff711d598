// Owns: `network`: where connections may go. A host must be on the list of every layer that has one.
// Not here: addresses; whether a name leads to a private one is checked where the connection is made.
import type { EffectShapes } from '../../contract/effect.ts';
import type { DomainRule, PolicyFile, Verdict } from '../../contract/policy.ts';
import {
  coversDomain,
  isStricter,
  matchesDomain,
  parseDomain,
  parseTarget,
} from '../../contract/policy-match.ts';
import type { TextProblem } from '../../contract/shape.ts';
import type { CompiledPolicy, Finding, Layer, Section } from '../section.ts';
import { attempt, examples, flag, list, map, rulesOf, shorthand, text, verdict } from '../shapes.ts';
import { answered, asRule, asSet, grantsOf, lists, shownGrants } from '../values.ts';

const LIST = 'network.allowed_domains';

export const network = {
  key: 'network',
  written: () => ({
    shape: map('Where connections may go. Without it: nowhere.', {
      allowed_domains: list(
        shorthand(
          'A host, or a host with more to say about it.',
          text('domain', 'A host that may be reached.'),
          map(
            'A host with more to say about it.',
            {
              domain: text(
                'domain',
                '`example.org`, `*.example.org` (every host below it), or with a port: `localhost:8080`.',
              ),
              decision: verdict('What happens to connections to it.', 'allow'),
              private: flag('Whether the host may resolve to a private or loopback address.'),
              examples: examples('A host or a URL.'),
            },
            { required: ['domain'] },
          ),
        ),
        'Hosts that may be reached; https on port 443 and http on port 80 unless a port is named.',
      ),
    }),
    texts: () => ({ domain: checkDomain }),
    examples: (draft) => ({
      rules: rulesOf(draft.network?.allowed_domains, LIST, 'domain').map(({ rule, path }) => {
        const domain = attempt(rule.domain, parseDomain);
        return {
          path,
          examples: rule.examples,
          matches: (subject) => {
            const target = parseTarget(subject.text);
            return domain !== undefined && target !== undefined && matchesDomain(domain, target);
          },
          says: () => rule.decision ?? 'allow',
        };
      }),
      byDefault: 'deny',
      wanted: 'a host or a URL',
      read: (example) => (parseTarget(example) ? { calls: [[{ text: example }]] } : undefined),
    }),
    widening: (host, session) =>
      grantsOf(session.allowed_domains, 'domain').flatMap(({ text: domain, at }) => {
        const granted = grantsOf(host?.allowed_domains, 'domain');
        const covered = granted.some((one) => coversDomain(parseDomain(one.text), parseDomain(domain)));
        return covered ? [] : [`.allowed_domains[${at}]`];
      }),
    changes(before, after) {
      const [old, now] = [domainsOf(before), domainsOf(after)];
      return lists(LIST, old, now, {
        added: ({ domain, decision, private: isPrivate }) =>
          decision !== 'deny' &&
          !old.some(
            (one) =>
              !isStricter(one.decision, decision) &&
              (one.private || !isPrivate) &&
              coversDomain(parseDomain(one.domain), parseDomain(domain)),
          ),
        removed: (gone) =>
          gone.decision !== 'allow' &&
          !now.some(({ domain, decision }) => domain === gone.domain && !isStricter(gone.decision, decision)),
      });
    },
    reach: 8,
    grants: ({ allowed_domains: own }) => shownGrants(own, 'domain').map((host) => `connections to ${host}`),
    below: (own) => ({ allowed_domains: own?.allowed_domains ?? [] }),
  }),
  meaning: (own) => hashed(own, (decision) => decision),
  project: ({ network: own }, _tool, complete) => ({
    network: own?.allowed_domains || complete ? hashed(own, answered) : null,
  }),
  effects: {
    'net.connect': {
      decide,
      name: ({ scheme, host, port }) => `${scheme} ${host} ${port}`,
      ready: (policy) => (policy.part(library).classifyHost ? undefined : loadLibrary(policy)),
    },
  },
} satisfies Section<'network'>;

/** True when the rule that allows this connection has `private: true`, in every layer that speaks about hosts. */
export const allowsPrivate = ({ layers }: CompiledPolicy, target: EffectShapes['net.connect']): boolean =>
  layers.every((layer) => {
    const domains = layer.part(compiled);
    return (
      !domains ||
      domains.some((one) => one.private && one.decision === 'allow' && matchesDomain(one.host, target))
    );
  });

type Network = PolicyFile['network'];

function domainsOf(own: Network): Required<Omit<DomainRule, 'examples'>>[] {
  return (own?.allowed_domains ?? []).map((entry) => {
    const {
      domain,
      decision = 'allow',
      private: isPrivate = false,
    } = asRule<DomainRule, 'domain'>(entry, 'domain');
    return { domain, decision, private: isPrivate };
  });
}

const hashed = (own: Network, decided: (decision: Verdict) => Verdict): unknown =>
  asSet(domainsOf(own).map((one) => [one.domain, decided(one.decision), one.private]));

/** Undefined where the layer says nothing of hosts. */
const compiled = ({ file, complete }: Layer) =>
  complete || file.network?.allowed_domains
    ? domainsOf(file.network).map((one, at) => ({
        ...one,
        rule: `${LIST}[${at}]`,
        host: parseDomain(one.domain),
      }))
    : undefined;

/** What needs a library, and is there once a connection has to be decided. */
const library = (): { classifyHost?: typeof import('../../base/ip-address.ts').classifyHost } => ({});

async function loadLibrary(policy: CompiledPolicy): Promise<void> {
  const { classifyHost } = await import('../../base/ip-address.ts');
  policy.part(library).classifyHost = classifyHost;
}

const DEFAULT_PORTS: { readonly [scheme: string]: number } = { http: 80, https: 443 };

function decide(target: EffectShapes['net.connect'], policy: CompiledPolicy): readonly Finding[] {
  if (target.host === '*') return decideAnyNetwork(policy.layers);
  const findings: Finding[] = [];
  const grantFor = (layer: Layer, rule: DomainRule) => {
    const kind = policy.part(library).classifyHost?.(target.host)?.kind ?? 'public';
    // Where the host is an address, what its address asks for is known already; some are never connected to.
    if (kind === 'never') return undefined;
    const whole = kind === 'public' ? rule : { ...rule, private: true };
    const short = Object.keys(whole).length === 1;
    return layer.grant({ network: { allowed_domains: [short ? whole.domain : whole] } });
  };
  for (const layer of policy.layers) {
    const domains = layer.part(compiled);
    if (!domains) continue;
    const matching = domains.filter(({ host }) => matchesDomain(host, target));
    for (const { rule, domain, decision } of matching) {
      const { where, ...cited } = layer.cite(rule);
      const grant = grantFor(layer, { domain, decision: 'allow' });
      findings.push({ verdict: decision, ...cited, fact: `${where} says ${decision}`, grant });
    }
    if (matching.length > 0) continue;
    const { where: _, ...cited } = layer.cite(LIST);
    const port = target.port === DEFAULT_PORTS[target.scheme] ? '' : `:${target.port}`;
    findings.push({
      verdict: 'deny',
      ...cited,
      reason: 'http.not_allowed',
      fact: `the host is not among ${LIST} of ${layer.name}`,
      grant: grantFor(layer, { domain: `${target.host}${port}` }),
    });
  }
  return findings;
}

/** To have a network at all, some host must be granted; which one is decided when a program asks for it. */
function decideAnyNetwork(layers: readonly Layer[]): readonly Finding[] {
  return layers.flatMap((layer): Finding[] => {
    const domains = layer.part(compiled);
    if (!domains) return [];
    const { where, ...cited } = layer.cite(LIST);
    if (domains.some(({ decision }) => decision !== 'deny'))
      return [{ verdict: 'allow', ...cited, fact: `${where} names hosts` }];
    const fact = `${LIST} of ${layer.name} names no host`;
    const grant = layer.grant({ network: { allowed_domains: ['example.org'] } });
    return [{ verdict: 'deny', ...cited, reason: 'http.not_allowed', fact, grant }];
  });
}

function checkDomain(given: string): TextProblem[] {
  try {
    parseDomain(given);
    return [];
  } catch (error) {
    const url = URL.parse(given.includes('://') ? given : `https://${given}`);
    const hint = url?.hostname && !given.includes('*') ? url.host : undefined;
    return [{ code: 'domain.invalid', fact: (error as Error).message, ...(hint ? { hint } : {}) }];
  }
}
