// Owns: how each pack is, as every door says it: what was last seen of it, or why nobody knows its tools.
// Refuses: to look; see look-at-packs.ts.
import type { HealthMonitor } from '../../contract/health.ts';
import type { HealthReport } from '../../contract/manifest.ts';
import type { OpenPack, PackState, Runtime } from '../../contract/runtime.ts';

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
