// Owns: the health of packs from when they are installed until they are removed: watched, and asked before each call.
// Refuses: to look by itself before a host that stays asks for it.
import type { HealthMonitor, ToolGate } from '../../contract/health.ts';
import type { OpenPack, Runtime, RuntimeInstallations } from '../../contract/runtime.ts';
import { healthSubjects, subjectOfTool } from './health-subjects.ts';

/** The installations of the runtime, with every pack that comes through here watched. */
export function watchPacks(runtime: Runtime, monitor: HealthMonitor): RuntimeInstallations {
  const { installations } = runtime;
  const watched = new Map<string, Watched>();
  const watch = (pack: OpenPack) => {
    const { name, digest } = pack.installation;
    const before = watched.get(name);
    const [whole, ...tools] = healthSubjects(runtime, pack);
    before?.endTools();
    // A server whose tools are others now is as well as it was.
    const end = before?.digest === digest ? before.end : whole ? monitor.watch(whole) : () => {};
    const ends = tools.map((subject) => monitor.watch(subject));
    watched.set(name, { digest, end, endTools: () => ends.forEach((endOne) => void endOne()) });
  };
  return {
    ...installations,
    add(pack) {
      installations.add({ ...pack, gate: (tool) => gateOf(monitor, subjectOfTool(pack, tool)) });
      watch(pack);
    },
    async replace(pack) {
      await installations.replace({ ...pack, gate: (tool) => gateOf(monitor, subjectOfTool(pack, tool)) });
      watch(pack);
    },
    async remove(name) {
      const before = watched.get(name);
      watched.delete(name);
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

function gateOf(monitor: HealthMonitor, name: string | undefined): ToolGate | undefined {
  if (name === undefined) return undefined;
  return {
    admit: (signal) => monitor.admit(name, signal),
    observe: (error) => monitor.observe(name, error),
    report: () => monitor.report(name),
  };
}
