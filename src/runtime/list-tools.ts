// Owns: what is told of every installed tool: whether it can be used as things are, and what would let it be.
// Refuses: to leave one out because it cannot be used; doors that show only what can be called leave it out themselves.
import type { PolicyEngine } from '../contract/policy.ts';
import type { ToolListing } from '../contract/runtime.ts';
import type { AnyTool, EffectSite } from '../contract/tool.ts';
import type { Installations } from './installations.ts';
import type { Registry } from './registry.ts';

export interface ListingSite {
  readonly registry: Registry;
  readonly installations: Pick<Installations, 'quarantined'>;
  readonly effectSite: EffectSite;
}

/** By the policy of the host: what a session narrows is its own affair. */
export function listTools(
  { registry, installations, effectSite }: ListingSite,
  engine: PolicyEngine,
): readonly ToolListing[] {
  return registry.all().map(({ tool, name, origin }) => {
    const { decision } = engine.decide(tool.id, needsOf(tool, effectSite, engine));
    const quarantined = installations.quarantined(tool.id);
    const granted = decision.verdict !== 'deny';
    const lacks = tool.gate?.lacks() ?? [];
    const health = tool.gate?.health();
    return {
      contract: tool,
      ...(name === tool.id ? {} : { name }),
      origin,
      enabled: granted && quarantined === undefined && lacks.length === 0,
      ...(granted ? {} : decision.admit ? { admit: decision.admit } : { denied: decision.message }),
      ...(quarantined === undefined ? {} : { quarantined }),
      ...(lacks.length === 0 ? {} : { lacks }),
      ...(health ? { health } : {}),
    };
  });
}

/** What can only be decided once more is loaded is decided with the call. */
function needsOf(tool: AnyTool, site: EffectSite, engine: PolicyEngine) {
  const needs = tool.needs?.(site) ?? [];
  return engine.ready?.(needs) ? [] : needs;
}
