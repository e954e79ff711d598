// Owns: where policy lets a run go: which backends in which order, on which image, and how much it may use up there.
// Refuses: to ask an engine where the text of policy is enough, to name a backend, and what no line of policy grants.
import { BACKENDS } from '../../backends/index.ts';
import { admitsImage, digestOf, fullName } from '../../base/image-reference.ts';
import type { BackendKind, Placement } from '../../contract/backend.ts';
import { type Failure, fail } from '../../contract/errors.ts';
import type { ExecutionPlan, RunResources } from '../../contract/plan.ts';
import { LIMIT_OF, type RunLimits, type RunsPolicy } from '../../contract/policy.ts';
import { imagesFor, matchesTool } from '../../contract/policy-match.ts';
import type { ChosenPlace, RunChoice } from '../../contract/runs.ts';
import { renderGrant } from '../../policy/grant.ts';

export const BACKEND_NAMES: readonly string[] = BACKENDS.map(({ name }) => name);

/** What engines say of images that the text of policy does not settle. */
export interface ImageWord {
  /** Whether one of these tags stands for the image. */
  hasTag(tags: readonly string[], image: string): Promise<boolean>;
  /** `Backend.knowsName`; undefined also where the engine does not answer: then nothing is executed, or asks again. */
  knowsName(backend: string, image: string): Promise<boolean | undefined>;
}

/** The first place that policy grants and the plan is for; behind it the others, where the caller asked for none. */
export async function choosePlace(run: RunChoice, engines: ImageWord): Promise<ChosenPlace> {
  const { tool, backend: asked } = run;
  const granted = grantedBackends(tool, run.policy.runs ?? {});
  const [first, ...others] = fittingKinds(run, granted);
  const place = await placeOn(first, run, engines);
  const why =
    asked === undefined
      ? `${granted.rule} has it first`
      : `the caller asks for it, and ${granted.rule} has it`;
  const chosen = { ...place, rule: granted.rule, why };
  // This machine itself is always there.
  if (first.here || others.length === 0 || run.placement) return chosen;
  const settled = await Promise.allSettled(others.map((kind) => placeOn(kind, run, engines)));
  const otherwise = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  return otherwise.length === 0 ? chosen : { ...chosen, otherwise };
}

async function placeOn(kind: BackendKind, run: RunChoice, engines: ImageWord): Promise<ChosenPlace> {
  const { runs = {} } = run.policy;
  const plan = run.plans?.[kind.name] ?? run.plan;
  if (kind.images !== 'none' && plan.image !== undefined) {
    await requireImage(run, kind, plan.image, runs, engines);
    const refused = kind.refuseImage?.(plan.image, runs);
    if (refused)
      throw fail('policy.denied', `Cannot run "${run.tool}" on ${kind.name}: ${refused.fact}`, {
        rule: refused.rule,
        image: plan.image,
      });
  }
  const placement = choosePlacement(run, kind, runs);
  return { backend: kind.name, plan: withinLimits(plan, runs.limits), ...(placement ? { placement } : {}) };
}

function choosePlacement(
  { tool, placement: asked = {} }: RunChoice,
  { name, placement: known = {} }: BackendKind,
  runs: RunsPolicy,
): Placement | undefined {
  const wanted = Object.entries(asked);
  if (wanted.length === 0) return undefined;
  for (const [key, value] of wanted) {
    if (!Object.hasOwn(known, key)) {
      const there = list(Object.keys(known));
      const fact = there === '' ? 'which has none' : `where one can choose ${there}`;
      throw fail('usage', `Cannot choose a ${key.slice(0, 80)} for "${tool}": it runs on ${name}, ${fact}`);
    }
    const setting = known[key]!;
    const own = (runs as { readonly [backend: string]: unknown })[name] as
      | Record<string, string[]>
      | undefined;
    const granted = own?.[setting] ?? [];
    if (granted.includes(value)) continue;
    const message = `Cannot run "${tool}" with ${key} "${value.slice(0, 80)}": policy lists ${list(granted) || 'none'}`;
    // The first of a list is what jobs get, so that a new one comes last.
    const admit = renderGrant({ runs: { [name]: { [setting]: [...granted, value] } } });
    throw fail('policy.denied', message, { rule: `runs.${name}.${setting}`, admit });
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

interface Granted {
  readonly rule: string;
  readonly names: readonly string[];
  /** The tools that the rule is for, where one holds. */
  readonly glob?: string;
}

/** At least one. */
function fittingKinds(
  { tool, plans, backend: asked }: RunChoice,
  granted: Granted,
): readonly [BackendKind, ...BackendKind[]] {
  if (asked !== undefined && !kindOf(asked)) {
    const names = list(BACKEND_NAMES);
    throw fail('usage', `Cannot run "${tool}" on "${asked.slice(0, 80)}": backends are ${names}`);
  }
  if (asked !== undefined && !granted.names.includes(asked)) throw ungranted(tool, asked, granted);
  const [first, ...others] = (asked === undefined ? granted.names : [asked])
    .flatMap((name) => kindOf(name) ?? [])
    .filter((kind) => takes(kind, plans));
  if (first) return [first, ...others];
  const written = Object.keys(plans ?? {}).filter((name) => takes(kindOf(name), plans));
  if (asked === undefined) throw ungranted(tool, written[0] ?? 'local', granted);
  if (plans?.[asked])
    throw fail('usage', `Cannot run "${tool}" on ${asked}: its plan names no image, and ${asked} needs one`);
  throw fail('usage', `Cannot run "${tool}" on ${asked}: its plans are for ${list(written)}`);
}

const kindOf = (name: string): BackendKind | undefined => BACKENDS.find((kind) => kind.name === name);

function takes(kind: BackendKind | undefined, plans: RunChoice['plans']): boolean {
  if (!kind) return false;
  if (!kind.dialect || plans === undefined) return true;
  const plan = plans[kind.name];
  return plan !== undefined && (kind.images !== 'needed' || plan.image !== undefined);
}

function ungranted(tool: string, asked: string, { rule, names, glob }: Granted): Failure {
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
  kind: BackendKind,
  image: string,
  runs: RunsPolicy,
  engines: ImageWord,
): Promise<void> {
  const entries = imagesFor(tool, runs.images).map((entry) => entry.image);
  const admitting = entries.filter((entry) => admitsImage(entry, image));
  if (admitting.some((entry) => digestOf(entry) !== undefined)) return;
  // What is left goes by the name, which a plan may have made up.
  const isNamed = admitting.length > 0;
  const known = isNamed
    ? kind.knowsName
      ? kind.knowsName(image, runs)
      : await engines.knowsName(kind.name, image)
    : false;
  if (known !== false) return;
  const tags = entries.filter(isLocalName);
  if (tags.length > 0 && (await engines.hasTag(tags, image))) return;
  const why = isNamed
    ? `${kind.name} does not have that digest under that name; admit the digest, or pull the image under that name`
    : 'no line of policy admits it';
  throw fail('policy.denied', `Cannot run "${tool}" on the image "${image}": ${why}`, {
    rule: 'runs.images',
    image,
    admit: renderGrant({ runs: { images: [image] } }),
  });
}

/** What a name of an image stands for where an entry of policy says so. */
export const pinnedByPolicy = (tool: string, runs: RunsPolicy, reference: string): string | undefined =>
  imagesFor(tool, runs.images).find(
    ({ name, image }) =>
      name !== undefined && fullName(name) === fullName(reference) && digestOf(image) !== undefined,
  )?.image;

/** `name:tag`, or the id that an engine gave an image (`sha256:…`): which digest that is the engine has to say. */
const isLocalName = (entry: string): boolean => /:[^/:@]+$/.test(entry) && !entry.includes('@');

function withinLimits(plan: ExecutionPlan, limits: RunLimits = {}): ExecutionPlan {
  const amounts = (Object.keys(LIMIT_OF) as (keyof RunResources)[]).map((field) => [
    field,
    Math.min(plan.resources[field], limits[LIMIT_OF[field]] ?? Number.POSITIVE_INFINITY),
  ]);
  return { ...plan, resources: { ...plan.resources, ...Object.fromEntries(amounts) } };
}

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
const list = (names: readonly string[]): string => names.join(', ');
