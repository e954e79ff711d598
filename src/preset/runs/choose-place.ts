// Owns: where policy lets a run go: which backend, on which image, and how much it may use up there.
// Refuses: to ask an engine where the text of policy is enough, and what no line of policy grants.
import { digestOf } from '../../base/image-reference.ts';
import type { Placement } from '../../contract/backend.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { ExecutionPlan, RunResources } from '../../contract/plan.ts';
import {
  BACKEND_NAMES,
  type BackendName,
  LIMIT_OF,
  type RunLimits,
  type RunsPolicy,
} from '../../contract/policy.ts';
import { matchesTool } from '../../contract/policy-match.ts';
import type { ChosenPlace, RunChoice } from '../../contract/runs.ts';
import { renderGrant } from '../../policy/grant.ts';
import { admitsByText, entriesFor } from './image-rules.ts';

/** What a backend's engine says of an image that policy may know by a tag only. */
export type AdmitsByTag = (tags: readonly string[], image: string) => Promise<boolean>;

export async function choosePlace(run: RunChoice, admitsByTag: AdmitsByTag): Promise<ChosenPlace> {
  const { runs = {} } = run.policy;
  const backend = chooseBackend(run, runs);
  const plan = run.plans?.[backend] ?? run.plan;
  // The sandbox of this machine has no images: programs are the machine's.
  if (backend !== 'local' && plan.image !== undefined) {
    await requireImage(run, plan.image, runs, admitsByTag);
    if (backend === 'slurm') requireUnpacked(run, plan.image, runs);
  }
  const placement = choosePlacement(run, backend, runs.slurm);
  return { backend, plan: withinLimits(plan, runs.limits), ...(placement ? { placement } : {}) };
}

/** The list of policy that each is among. */
const LISTS: { readonly [K in keyof Required<Placement>]: 'partitions' | 'accounts' | 'qos' | 'gres' } = {
  partition: 'partitions',
  account: 'accounts',
  qos: 'qos',
  gres: 'gres',
};

function choosePlacement(
  { tool, placement: asked = {} }: RunChoice,
  backend: BackendName,
  slurm: RunsPolicy['slurm'] = {},
): Placement | undefined {
  const wanted = Object.entries(asked) as [keyof Placement, string][];
  if (wanted.length === 0) return undefined;
  if (backend !== 'slurm')
    throw fail(
      'usage',
      `Cannot choose a ${wanted[0]?.[0]} for "${tool}": it runs on ${backend}, which has none`,
    );
  for (const [key, value] of wanted) {
    const granted = slurm[LISTS[key]] ?? [];
    if (granted.includes(value)) continue;
    const message = `Cannot run "${tool}" with ${key} "${value.slice(0, 80)}": policy lists ${list(granted) || 'none'}`;
    // The first of a list is what jobs get, so that a new one comes last.
    const admit = renderGrant({ runs: { slurm: { [LISTS[key]]: [...granted, value] } } });
    throw fail('policy.denied', message, { rule: `runs.slurm.${LISTS[key]}`, admit });
  }
  return asked;
}

/** What policy lets callers of a tool choose among; the first is where it goes by itself. */
export function grantedBackends(tool: string, { backend = 'local', backends, rules }: RunsPolicy): Granted {
  const at = (rules ?? []).findIndex((rule) => matchesTool(rule.tool, tool));
  const rule = rules?.[at];
  if (!rule) return { rule: 'runs.backends', names: unique([backend, ...(backends ?? [])]) };
  const names = unique([rule.backend, ...(rule.backends ?? backends ?? [])]);
  return { rule: `runs.rules[${at}]`, names, glob: rule.tool };
}

export interface Granted {
  readonly rule: string;
  readonly names: readonly BackendName[];
  /** The tools that the rule is for, where one holds. */
  readonly glob?: string;
}

function chooseBackend({ tool, plans, backend: asked }: RunChoice, runs: RunsPolicy): BackendName {
  const granted = grantedBackends(tool, runs);
  if (asked !== undefined && !isBackend(asked))
    throw fail(
      'usage',
      `Cannot run "${tool}" on "${asked.slice(0, 80)}": backends are ${list(BACKEND_NAMES)}`,
    );
  if (asked !== undefined && !granted.names.includes(asked)) throw ungranted(tool, asked, granted);
  const candidates = asked === undefined ? granted.names : [asked];
  const fitting = candidates.find((name) => offers(plans, name));
  if (fitting !== undefined) return fitting;
  const written = (Object.keys(plans ?? {}) as BackendName[]).filter((name) => offers(plans, name));
  const [wanted = 'local'] = written;
  if (asked === undefined) throw ungranted(tool, wanted, granted);
  if (plans?.[asked])
    throw fail('usage', `Cannot run "${tool}" on ${asked}: its plan names no image, and ${asked} needs one`);
  throw fail('usage', `Cannot run "${tool}" on ${asked}: its plans are for ${list(written)}`);
}

/** The sandbox of this machine takes every plan; a container is made of an image. */
const offers = (plans: RunChoice['plans'], name: BackendName): boolean =>
  name === 'local' ||
  plans === undefined ||
  (name === 'docker' ? plans[name]?.image !== undefined : plans[name] !== undefined);

function ungranted(tool: string, asked: BackendName, { rule, names, glob }: Granted): Failure {
  const [backend = 'local', ...others] = names;
  const backends = unique([...others, asked]);
  const admit = renderGrant({
    runs: glob === undefined ? { backends } : { rules: [{ tool: glob, backend, backends }] },
  });
  return fail('policy.denied', `Cannot run "${tool}" on ${asked}: policy grants ${list(names)}`, {
    rule,
    admit,
  });
}

async function requireImage(
  { tool }: RunChoice,
  image: string,
  runs: RunsPolicy,
  admitsByTag: AdmitsByTag,
): Promise<void> {
  const entries = entriesFor(tool, runs);
  if (admitsByText(entries, image)) return;
  const tags = entries.flatMap((entry) => (isLocalName(entry.image) ? [entry.image] : []));
  if (tags.length > 0 && (await admitsByTag(tags, image))) return;
  const message = `Cannot run "${tool}" on the image "${image}": no line of policy admits it`;
  throw fail('policy.denied', message, {
    rule: 'runs.images',
    image,
    admit: renderGrant({ runs: { images: [image] } }),
  });
}

/** Nodes have no engine to ask, or one that only a job can ask. */
function requireUnpacked({ tool }: RunChoice, image: string, { slurm }: RunsPolicy): void {
  const kind = slurm?.container?.kind;
  if (kind === 'docker' || kind === 'podman') return;
  if (slurm?.images?.some((entry) => digestOf(entry.image) === digestOf(image))) return;
  const message = `Cannot run "${tool}" on slurm: no entry of runs.slurm.images says which folder of the nodes holds the image "${image}"`;
  throw fail('policy.denied', message, { rule: 'runs.slurm.images', image });
}

/** `name:tag`, or the id that an engine gave an image (`sha256:…`): which digest that is the engine has to say. */
const isLocalName = (entry: string): boolean => /:[^/:@]+$/.test(entry) && !entry.includes('@');

function withinLimits(plan: ExecutionPlan, limits: RunLimits = {}): ExecutionPlan {
  const amounts = (Object.keys(LIMIT_OF) as (keyof RunResources)[]).map((field) => [
    field,
    Math.min(plan.resources[field], limits[LIMIT_OF[field]] ?? Number.POSITIVE_INFINITY),
  ]);
  return { ...plan, resources: { ...plan.resources, ...Object.fromEntries(amounts) } };
}

const isBackend = (name: string): name is BackendName => (BACKEND_NAMES as readonly string[]).includes(name);
const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
const list = (names: readonly string[]): string => names.join(', ');
