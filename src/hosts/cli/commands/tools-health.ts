// Owns: `haft tools health`: one look at every pack, and at every tool that says how to look at it.
// Refuses: to repair anything, and to call something unhealthy that nobody enabled.
import { closest } from '../../../base/closest.ts';
import { ERRORS, fail } from '../../../contract/errors.ts';
import type { HealthReport } from '../../../contract/manifest.ts';
import { toWire } from '../../../contract/spelling.ts';
import { healthSubjects } from '../../../preset/packs/health-subjects.ts';
import { withWorkspacePacks } from '../../../preset/packs/workspace-packs.ts';
import { createEventBus } from '../../../runtime/events.ts';
import { createHealthMonitor } from '../../../runtime/health/create-health-monitor.ts';
import { systemTiming } from '../../../runtime/health/timing.ts';
import type { Command, Invocation } from '../command.ts';
import { table } from '../output.ts';

export const command: Command = {
  summary: 'Look whether the packs can be reached',
  usage: '[PACK | TOOL]...',
  description: 'Starts or reaches each of them. Exits with 70 when one is unhealthy.',
  examples: ['haft tools health', 'haft tools health hub --json'],
  positionals: [0, 64],
  async run(invocation) {
    const { io, json, positionals } = invocation;
    const found = await lookAtAll(invocation, positionals);
    const sick = found.some(([, { status }]) => status === 'unhealthy');
    if (json) {
      const health = found.map(([name, report]) => ({ name, ...toWire(report) }));
      io.out(`${JSON.stringify({ ok: !sick, health })}\n`);
    } else if (found.length === 0) io.out('No packs are installed.\n');
    else
      io.out(
        table(
          found.map(([name, { status, message = '' }]) => [name, status, message]),
          ['PACK OR TOOL', 'HEALTH', ''],
        ),
      );
    return sick ? ERRORS['tool.unhealthy'].exit : 0;
  },
};

type Found = readonly (readonly [name: string, report: HealthReport])[];

async function lookAtAll({ runtime, workspace, io }: Invocation, wanted: readonly string[]): Promise<Found> {
  const live = await runtime();
  const timing = systemTiming({ now: Date.now, monotonic: () => performance.now() });
  const monitor = createHealthMonitor({ timing, events: createEventBus() });
  try {
    // One look has to be enough for whoever asks now.
    for (const pack of live.installations.all())
      for (const subject of healthSubjects(live, pack))
        monitor.watch({ ...subject, plan: { ...subject.plan, failureThreshold: 1 } });
    const off = (await withWorkspacePacks(workspace, (packs) => packs.list())).filter(
      ({ enabled }) => !enabled,
    );
    const disabled = off.map(({ name }) => [name, { status: 'disabled', checkedTs: null }] as const);
    const watched = monitor.reports().map(([name]) => name);
    refuseUnknown(wanted, [...watched, ...off.map(({ name }) => name)]);
    const asked = (name: string) => wanted.length === 0 || wanted.includes(name);
    const looked = await Promise.all(
      watched.filter(asked).map(async (name) => [name, await monitor.look(name, io.signal)] as const),
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
