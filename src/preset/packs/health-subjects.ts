// Owns: what of the installed packs is watched, and how each may be looked at.
// Refuses: to look; a health monitor does.
import type { Adapter } from '../../contract/adapter.ts';
import { type HealthPlan, type HealthSubject, type HealthWays, USUAL_HEALTH } from '../../contract/health.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { OpenPack, Runtime } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';

/** A pack by its name, and each of its tools that says how to look at it by its id. */
export function healthSubjects(runtime: Runtime, pack: OpenPack): readonly HealthSubject[] {
  const { name, config, digest: identity } = pack.installation;
  const whole: HealthSubject = {
    name,
    identity,
    enabled: true,
    plan: planOf(pack.adapter.name, config),
    ways: waysOf(runtime, pack),
  };
  const own = pack.tools.flatMap((tool): HealthSubject[] => {
    const plan = planOfTool(tool);
    return plan
      ? [{ name: tool.contract.id, identity, enabled: true, plan, ways: waysOfTool(runtime, pack, tool) }]
      : [];
  });
  return [whole, ...own];
}

/**
 * The subject that tells whether a tool can be reached. All tools of a server are as well as it is; a tool of a folder
 * is as well as its own plan says, and where it has none, nobody watches it.
 */
export function subjectOfTool({ adapter, installation }: OpenPack, tool: BoundTool): string | undefined {
  if (planOfTool(tool)) return tool.contract.id;
  return isServer(adapter) ? installation.name : undefined;
}

/** One thing that is there or is not. A folder is many, each of which is looked at for itself. */
export const isServer = ({ name }: Pick<Adapter, 'name'>): boolean => name === 'mcp' || name === 'stdio';

/** A server's config may say how often it is looked at; `PROGRAM_CONFIG` has the words. */
function planOf(adapter: string, { health = {} }: JsonObject): HealthPlan {
  const { interval_ms, timeout_ms, failure_threshold, success_threshold } = health as Record<string, number>;
  const { intervalMs, timeoutMs, failureThreshold, successThreshold } = USUAL_HEALTH;
  return {
    strategy: adapter === 'mcp' ? 'mcp' : USUAL_HEALTH.strategy,
    intervalMs: interval_ms ?? intervalMs,
    timeoutMs: timeout_ms ?? timeoutMs,
    failureThreshold: failure_threshold ?? failureThreshold,
    successThreshold: success_threshold ?? successThreshold,
  };
}

/** Tools of a `*.tool.yaml` may have a plan of their own. */
function planOfTool({ contract, binding }: BoundTool): HealthPlan | undefined {
  const { tool } = binding.target as unknown as { readonly tool?: Partial<YamlTool> };
  return tool?.health ? { ...tool.health, tool: contract.id } : undefined;
}

function waysOf(runtime: Runtime, { installation }: OpenPack): HealthWays {
  const { installations } = runtime;
  return {
    connection: () => ({ health: (signal) => installations.health(installation.name, signal) }),
    asleep: () => installations.asleep(installation.name),
    get http() {
      return installations.handlesFor(installation).http;
    },
    call: (request, { signal }) => runtime.call(request, { signal, probe: true }),
  };
}

/** What the other tools of its folder need says nothing about it. */
function waysOfTool(runtime: Runtime, pack: OpenPack, tool: BoundTool): HealthWays {
  const { adapter, installation } = pack;
  const { asleep: _, ...ways } = waysOf(runtime, pack);
  return {
    ...ways,
    connection: () => ({
      async health(signal) {
        const connection = await adapter.open(installation, [tool]);
        try {
          return await connection.health(signal);
        } finally {
          await connection.close();
        }
      },
    }),
  };
}
