// Owns: what stands between a call and a pack, from when it is installed until it is removed: its health, its secrets.
// Refuses: to look at health by itself before a host that stays asks for it.
import type { CredentialNeed } from '../../contract/credentials.ts';
import type { HealthMonitor, ToolHealth } from '../../contract/health.ts';
import type { BoundTool } from '../../contract/manifest.ts';
import type { OpenPack, Runtime, RuntimeInstallations } from '../../contract/runtime.ts';
import type { YamlTool } from '../../contract/yaml-tool.ts';
import { healthSubjects, isServer, subjectOfTool } from './health-subjects.ts';
import type { KnownCredentials } from './known-credentials.ts';
import { serverNeeds } from './server-needs.ts';

export interface PackWatch {
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
