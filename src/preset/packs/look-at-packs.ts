// Owns: one look at every pack, and at every tool that says how to look at it.
// Refuses: to repair anything, and to call something unhealthy that nobody enabled.
import { closest } from '../../base/closest.ts';
import { fail } from '../../contract/errors.ts';
import type { HealthReport } from '../../contract/manifest.ts';
import { createHealthMonitor, systemTiming } from '../../runtime/health/create-health-monitor.ts';
import { createEventBus } from '../../runtime/record.ts';
import type { DefaultRuntime } from '../default.ts';
import { healthSubjects, withProblem } from './watch-packs.ts';
import { withWorkspacePacks } from './workspace-packs.ts';

export type Looked = readonly (readonly [name: string, report: HealthReport])[];

/** By name. Starts or reaches each; `wanted` are packs and tools, all of them where none is named. */
export async function lookAtPacks(
  runtime: DefaultRuntime,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<Looked> {
  const timing = systemTiming({ now: Date.now, monotonic: () => performance.now() });
  // What the host watches it is asked about, so that it says the same to everybody; of a folder it watches the tools alone.
  const watching = runtime.packHealth();
  const monitor = createHealthMonitor({ timing, events: createEventBus() });
  const look = (name: string) => (watching?.report(name) ? watching : monitor).look(name, signal, true);
  try {
    for (const pack of runtime.installations.all())
      for (const subject of healthSubjects(runtime, pack)) monitor.watch(subject);
    const packs = await withWorkspacePacks(runtime.workspace, (all) => all.list(), { looks: true });
    const off = packs.filter(({ enabled }) => !enabled);
    const disabled = off.map(({ name }) => [name, { status: 'disabled', checkedTs: null }] as const);
    const watched = monitor.reports().map(([name]) => name);
    refuseUnknown(wanted, [...watched, ...off.map(({ name }) => name)]);
    const asked = (name: string) => wanted.length === 0 || wanted.includes(name);
    const looked = await Promise.all(
      watched
        .filter(asked)
        .map(
          async (name) => [name, withProblem(await look(name), runtime.packProblems().get(name))] as const,
        ),
    );
    return [...looked, ...disabled.filter(([name]) => asked(name))].sort(([a], [b]) => (a < b ? -1 : 1));
  } finally {
    await monitor.close();
  }
}

function refuseUnknown(wanted: readonly string[], known: readonly string[]): void {
  const name = wanted.find((one) => !known.includes(one));
  if (name === undefined) return;
  const near = closest(name, known);
  const hint = near ? `; did you mean "${near}"?` : '';
  throw fail('pack.unknown', `Cannot look at "${name.slice(0, 80)}": no such pack is installed${hint}`);
}
