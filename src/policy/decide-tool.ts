// Owns: what the rules of `tools` say about a tool that touches a path, or nothing that has one.
// Refuses: what the call may do to that path; the deciders say that.
import { UNTRUSTED_POLICY } from '../contract/policy.ts';
import { blocksTree } from '../contract/policy-match.ts';
import type { CompiledPolicy, Layer, ToolEntry } from './compile-policy.ts';
import type { Finding } from './finding.ts';

export interface ToolRules {
  /** Whether the findings are the same whatever the call touches. */
  readonly pathless: boolean;
  /** The path that the call touches, where it touches one; `wholeTree` when it writes everything below. */
  findings(path: string | undefined, wholeTree: boolean): readonly Finding[];
}

/** The rules that can match this tool. */
export function toolRules(tool: string, { layers }: CompiledPolicy): ToolRules {
  const parts = layers.map((layer) => ({
    layer,
    rules: layer.tools.rules.filter((rule) => rule.matches(tool)),
  }));
  return {
    pathless: parts.every(({ rules }) => rules.every((rule) => !rule.paths)),
    findings: (path, wholeTree) =>
      parts.flatMap(({ layer, rules }) => {
        const matching = rules.filter((rule) => isAbout(rule, path, wholeTree));
        if (matching.length === 0) return [defaultFinding(layer, tool)];
        return matching.map((rule) => ruleFinding(layer, rule));
      }),
  };
}

/** A rule with paths stops what touches one of them; what it allows there includes touching nothing. */
function isAbout({ paths, verdict }: ToolEntry, path: string | undefined, wholeTree: boolean): boolean {
  if (!paths) return true;
  if (path === undefined) return verdict !== 'deny';
  return paths.some((one) => one.matches(path) || (wholeTree && blocksTree(one, verdict, path)));
}

function ruleFinding(layer: Layer, { rule, tool, globs, verdict }: ToolEntry): Finding {
  const { where, ...cited } = layer.cite(rule);
  const paths = globs ? { paths: globs } : {};
  const grant = layer.grant({ tools: { rules: [{ tool, ...paths, decision: 'allow' }] } });
  return { verdict, ...cited, fact: `${where} says ${verdict}`, grant };
}

function defaultFinding(layer: Layer, tool: string): Finding {
  if (layer.name === UNTRUSTED_POLICY) return UNTRUSTED;
  const { where, ...cited } = layer.cite('tools.default');
  const verdict = layer.tools.byDefault;
  const grant = layer.grant({ tools: { rules: [{ tool, decision: 'allow' }] } });
  return { verdict, ...cited, fact: `${where} says ${verdict}`, grant };
}

/** No line of haft.yaml helps where haft.yaml itself does not count. */
const UNTRUSTED: Finding = {
  verdict: 'deny',
  rule: 'trust',
  reason: 'policy.untrusted',
  fact: 'the policy of this workspace is not trusted on this machine, or no longer; read haft.yaml, then run haft trust in a terminal',
};
