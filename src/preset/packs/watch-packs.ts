// Owns: what is watched of installed packs and how it is as every door says it: health, and the secrets that tools need.
// Refuses: to look at health by itself before a host that stays asks for it.
import type { ServerAdapter } from '../../adapters/server-adapter.ts';
import type { Adapter } from '../../contract/adapter.ts';
import type { CredentialNeed } from '../../contract/credentials.ts';
import {
  type HealthMonitor,
  type HealthPlan,
  type HealthSubject,
  type HealthWays,
  type ToolHealth,
  USUAL_HEALTH,
} from '../../contract/health.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { BoundTool, HealthReport } from '../../contract/manifest.ts';
import type { OpenPack, PackState, Runtime, RuntimeInstallations } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { readOwnCache, writeOwnCache } from '../../loader/own-cache.ts';
import type { HealthMemory, Remembered } from '../../runtime/health/create-health-monitor.ts';
import { type KnownCredentials, serverNeeds } from './known-credentials.ts';

interface PackWatch {
  readonly monitor: HealthMonitor;
  readonly credentials: Pick<KnownCredentials, 'needsOf'>;
}

/** The installations of the runtime, with every pack that comes through here watched. */
export function watchPacks(runtime: Runtime, { monitor, credentials }: PackWatch): RuntimeInstallations {
  const { installations } = runtime;
  const known = new Map<string, Watched>();
  const watch = (pack: OpenPack) => {
    const { name, digest } = pack.installation;
    const before = known.get(name);
    const [whole, ...tools] = healthSubjects(runtime, pack);
    before?.endTools();
    // A server whose tools are others now is as well as it was.
    const begin = () => (whole && isServer(pack.adapter) ? monitor.watch(whole) : () => {});
    const end = before?.digest === digest ? before.end : begin();
    const ends = tools.map((subject) => monitor.watch(subject));
    known.set(name, { digest, end, endTools: () => ends.forEach((endOne) => void endOne()) });
  };
  const watched = (pack: OpenPack): OpenPack => ({
    ...pack,
    health: (tool) => healthOf(monitor, subjectOfTool(pack, tool)),
    needs: (tool) => credentials.needsOf(needsOf(pack, tool)),
  });
  return {
    ...installations,
    add(pack) {
      installations.add(watched(pack));
      watch(pack);
    },
    async replace(pack) {
      await installations.replace(watched(pack));
      watch(pack);
    },
    async remove(name) {
      const before = known.get(name);
      known.delete(name);
      before?.end();
      before?.endTools();
      await installations.remove(name);
    },
  };
}

interface Watched {
  readonly digest: string;
  end(): void;
  endTools(): void;
}

function healthOf(monitor: HealthMonitor, name: string | undefined): ToolHealth | undefined {
  if (name === undefined) return undefined;
  return {
    admit: (signal) => monitor.admit(name, signal),
    observe: (error) => monitor.observe(name, error),
    report: () => monitor.report(name),
  };
}

/** Tools of a `*.tool.yaml` declare theirs; those of a server need what it is started with. */
function needsOf({ installation, secrets }: OpenPack, { binding }: BoundTool): readonly CredentialNeed[] {
  if (!secrets) return [];
  const { tool } = binding.target as unknown as { readonly tool?: Partial<YamlTool> };
  return tool?.credentials ?? serverNeeds(installation.config);
}

const FORMAT = 1;

export function createHealthMemory(root: string): HealthMemory {
  const folder = `${root}/.haft/cache/health`;
  const keyOf = ({ name, identity }: HealthSubject) => `${name}-${identity.replaceAll(/[^a-z0-9]/g, '-')}`;
  return {
    recall: (subject) => readOwnCache<Remembered>(folder, keyOf(subject), FORMAT),
    keep: (subject, seen) => writeOwnCache(folder, keyOf(subject), FORMAT, seen),
  };
}

/** A pack by its name, and each of its tools that says how to look at it by its id. */
export function healthSubjects(runtime: Runtime, pack: OpenPack): readonly HealthSubject[] {
  const { name, config, digest: identity } = pack.installation;
  const whole: HealthSubject = {
    name,
    identity,
    enabled: true,
    plan: planOf(pack.adapter, config),
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
function subjectOfTool({ adapter, installation }: OpenPack, tool: BoundTool): string | undefined {
  if (planOfTool(tool)) return tool.contract.id;
  return isServer(adapter) ? installation.name : undefined;
}

/** One thing that is there or is not. A folder is many, each of which is looked at for itself. */
const isServer = (adapter: Adapter): boolean => strategyOf(adapter) !== undefined;

const strategyOf = (adapter: Adapter & Partial<Pick<ServerAdapter, 'strategy'>>) => adapter.strategy;

/** A server's config may say how often it is looked at; `PROGRAM_CONFIG` has the words. */
function planOf(adapter: Adapter, { health = {} }: JsonObject): HealthPlan {
  const { interval_ms, timeout_ms, failure_threshold, success_threshold } = health as Record<string, number>;
  const { intervalMs, timeoutMs, failureThreshold, successThreshold } = USUAL_HEALTH;
  return {
    strategy: strategyOf(adapter) ?? USUAL_HEALTH.strategy,
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

/** By name. */
export function packStates(
  { installations }: Pick<Runtime, 'installations'>,
  monitor: Pick<HealthMonitor, 'report'>,
  broken: ReadonlyMap<string, string>,
): readonly PackState[] {
  return installations
    .all()
    .map((pack): PackState => {
      const { installation, tools, problems } = pack;
      return {
        name: installation.name,
        ...withProblem(reportOf(pack, monitor.report(installation.name)), broken.get(installation.name)),
        tools: tools.length,
        ...(problems ? { problems } : {}),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** It works, and is not what its folder holds by now. */
export function withProblem(report: HealthReport, problem: string | undefined): HealthReport {
  if (problem === undefined || report.status === 'unhealthy') return report;
  return { ...report, status: 'degraded', message: `what was loaded before goes on: ${problem}` };
}

const UNVERIFIED: HealthReport = { status: 'unverified', checkedTs: null };

/** The later of the two: a look at its health, and asking it for its tools. */
function reportOf({ absent }: OpenPack, seen: HealthReport = UNVERIFIED): HealthReport {
  const last = absent?.known === false ? absent.last : undefined;
  if (!last || (seen.status === 'unhealthy' && (seen.checkedTs ?? 0) >= last.at)) return seen;
  return { status: 'unhealthy', checkedTs: last.at, message: last.message };
}
