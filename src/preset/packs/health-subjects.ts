// Owns: what of the installed packs is watched, and how each may be looked at.
// Refuses: to look; a health monitor does.
import { type HealthPlan, type HealthSubject, type HealthWays, USUAL_HEALTH } from '../../contract/health.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { OpenPack, Runtime } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';

/** Every pack by its name, and every tool that says how to look at it by its id. */
export function healthSubjects(runtime: Runtime): readonly HealthSubject[] {
  return runtime.installations.all().flatMap((pack) => {
    const { installation, tools, adapter } = pack;
    const ways = waysOf(runtime, pack);
    const strategy = adapter.name === 'mcp' ? 'mcp' : USUAL_HEALTH.strategy;
    const whole = { name: installation.name, enabled: true, plan: { ...USUAL_HEALTH, strategy }, ways };
    const own = tools.flatMap((tool): HealthSubject[] => {
      const plan = planOf(tool);
      return plan ? [{ name: tool.contract.id, enabled: true, plan, ways }] : [];
    });
    return [whole, ...own];
  });
}

/** Tools of a `*.tool.yaml` may have a plan of their own. */
function planOf({ contract, binding }: BoundTool): HealthPlan | undefined {
  const { tool } = binding.target as unknown as { readonly tool?: Partial<YamlTool> };
  return tool?.health ? { ...tool.health, tool: contract.id } : undefined;
}

function waysOf(runtime: Runtime, { installation }: OpenPack): HealthWays {
  const { installations } = runtime;
  return {
    connection: () => ({ health: (signal) => installations.health(installation.name, signal) }),
    get http() {
      return installations.handlesFor(installation).http;
    },
    call: (request, { signal }) => runtime.call(request, { signal }),
  };
}
