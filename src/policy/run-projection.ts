// Owns: what of a policy can change what a prepared run makes: the resources that it takes from the run's plans.
// Refuses: what only decides whether the run is made, or where. Its image, and all else that it sees, is in its params.
import { canonicalJson } from '../base/canonical-json.ts';
import { digest } from '../base/digest.ts';
import type { RunResources } from '../contract/plan.ts';
import { LIMIT_OF, POLICY_DEFAULTS, type PolicyFile, type RunLimits } from '../contract/policy.ts';
import type { PreparedRun } from '../contract/runs.ts';

export interface RunProjection {
  /** `policy/v1` digest of the body. */
  readonly hash: string;
  /** Canonical JSON, in the words of haft.yaml: `{"runs":{"limits":{"cpus":1}}}`. */
  body(): Uint8Array;
}

/**
 * A run sees neither the workspace nor a network, and nobody is asked while it runs, so that of all sections only
 * `runs.limits` reaches it: a limit that is smaller than what one of its plans asks for. All plans count, whichever is
 * executed: a run has one id on every backend.
 */
export function projectRun(
  { runs }: PolicyFile,
  { plan, plans }: Pick<PreparedRun, 'plan' | 'plans'>,
): RunProjection {
  const asked = [plan, ...Object.values(plans ?? {})].map(({ resources }) => resources);
  const limits = { ...tightOf(runs?.limits, asked), ...shownOf(runs?.limits) };
  const bytes = canonicalJson({ runs: { limits } });
  return { hash: digest('policy/v1', bytes), body: () => bytes };
}

function tightOf(limits: RunLimits = {}, asked: readonly RunResources[]): RunLimits {
  const fields = Object.entries(LIMIT_OF) as [keyof RunResources, keyof RunLimits][];
  return Object.fromEntries(
    fields.flatMap(([field, key]) => {
      const limit = limits[key];
      return limit !== undefined && asked.some((resources) => resources[field] > limit) ? [[key, limit]] : [];
    }),
  );
}

/** No plan asks for processes: every run can notice how many it may have. What it prints too much of only ends it. */
function shownOf({ processes }: RunLimits = {}): RunLimits {
  return processes === undefined || processes === POLICY_DEFAULTS.runLimits.processes ? {} : { processes };
}
