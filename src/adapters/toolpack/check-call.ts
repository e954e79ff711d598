// Owns: the rules that the answer of `canonicalize` keeps, each with its own word: parameters, links, and plans in the dialects of the backends.
// Refuses: repair, networks, unpinned images, places outside of `in/`. A plan that breaks a rule is told all that is wrong with it, and does not run.
import { canonicalJson } from '../../base/canonical-json.ts';
import type { PlanDialect } from '../../contract/backend.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { DeclaredOutput, ExecutionPlan, PathFact, RunInput, RunResources } from '../../contract/plan.ts';
import { below, collisions, outputPlace } from '../../contract/plan.ts';
import type { MutableState, PlanKind, ToolOutput } from '../../contract/toolpack.ts';
import { type Dialects, isRecord, isWord, show } from './check-definition.ts';

interface CallRules {
  readonly planKind: PlanKind;
  readonly dialects: Dialects;
  readonly outputs: readonly DeclaredOutput[];
  readonly mutableState: readonly MutableState[];
  /** Artifacts that the arguments name: what a call may use. */
  readonly named: ReadonlySet<string>;
}

interface CheckedCall {
  readonly canonicalParams: JsonObject;
  readonly plan: ExecutionPlan;
  /** By the engine that it is written for. */
  readonly plans: { readonly [engine: string]: ExecutionPlan };
}

export interface CallProblem {
  readonly code: string;
  readonly message: string;
}

export function checkCall(answer: unknown, rules: CallRules): CheckedCall | readonly CallProblem[] {
  const problems: CallProblem[] = [];
  const tell: Tell = (code, message) => void problems.push({ code, message });
  if (!isRecord(answer))
    return [{ code: 'answer.invalid', message: `canonicalize answered ${show(answer)}` }];
  const unknown = Object.keys(answer).find((key) => !ANSWER.includes(key));
  if (unknown !== undefined)
    tell('answer.invalid', `canonicalize answered a field "${unknown.slice(0, 80)}" that nobody knows`);
  const params = checkParams(answer.canonicalParams, rules.mutableState, tell);
  const linked = checkLinks(answer.inputsToLink, rules.named, tell);
  const plans = checkPlan(answer.plan, rules.planKind, rules.dialects, tell);
  for (const plan of plans) {
    compareInputs(plan, linked, tell);
    if (plan.outputs) compareOutputs(plan.outputs, rules.outputs, tell);
  }
  const made = plans.map((plan) => [plan.engine, toExecution(plan, rules.outputs)] as const);
  const [first, ...others] = made;
  for (const other of others) compareEngines(first!, other, tell);
  if (problems.length > 0 || !params || !first) return problems;
  return { canonicalParams: params, plan: first[1], plans: Object.fromEntries(made) };
}

const ANSWER = ['canonicalParams', 'inputsToLink', 'plan'];

function checkParams(given: unknown, states: readonly MutableState[], tell: Tell): JsonObject | undefined {
  if (!isRecord(given)) {
    tell('params.invalid', `canonicalParams is ${show(given)}; it is an object`);
    return undefined;
  }
  try {
    canonicalJson(given);
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    tell(
      'params.not_json',
      thrown.message.replace('Cannot canonicalise the value at', 'canonicalParams has no canonical form at'),
    );
    return undefined;
  }
  for (const { name, snapshot } of states) {
    const boundary = Object.hasOwn(given, snapshot) ? given[snapshot] : undefined;
    if (typeof boundary !== 'string' || !DIGEST.test(boundary))
      tell(
        'snapshot.missing',
        `canonicalParams.${snapshot} is ${show(boundary)}: "${name}" can change, so that a digest (sha256:…) has to say which state of it is meant`,
      );
  }
  return given;
}

const DIGEST = /^sha256:[0-9a-f]{64}$/;

function checkLinks(given: unknown, named: ReadonlySet<string>, tell: Tell): readonly string[] | undefined {
  if (!Array.isArray(given)) {
    tell('inputs.invalid', 'inputsToLink is not a list');
    return undefined;
  }
  const links: string[] = [];
  for (const [n, link] of given.entries()) {
    const which = `inputsToLink[${n}]`;
    if (!isRecord(link) || Object.keys(link).some((key) => key !== 'artifactId' && key !== 'role')) {
      tell('inputs.invalid', `${which} is not { artifactId, role }`);
      continue;
    }
    const { artifactId, role } = link;
    if (!isWord(role))
      tell('role.whitespace', `${which}.role is ${show(role)}: a role is a word without white space`);
    if (typeof artifactId !== 'string' || !DIGEST.test(artifactId))
      tell('inputs.invalid', `${which}.artifactId is ${show(artifactId)}; it is sha256:… of an artifact`);
    else if (!named.has(artifactId))
      tell('inputs.unnamed', `${which}.artifactId is ${artifactId}, which the arguments do not name`);
    links.push(pair(role, artifactId));
  }
  return links;
}

const pair = (role: unknown, artifactId: unknown): string => JSON.stringify([role, artifactId]);

/** Exactly: nothing missing, nothing more, nothing twice. */
function compareInputs(
  { engine, inputs }: PlanDraft,
  linked: readonly string[] | undefined,
  tell: Tell,
): void {
  if (!linked) return;
  const rest = new Map<string, number>();
  for (const link of linked) rest.set(link, (rest.get(link) ?? 0) + 1);
  for (const { role, artifact } of inputs) {
    const key = pair(role, artifact);
    const left = rest.get(key) ?? 0;
    if (left === 0)
      tell('inputs.additional', `the ${engine} plan has an input ${key} that inputsToLink has not`);
    rest.set(key, left - 1);
  }
  for (const [key, left] of rest)
    if (left > 0) tell('inputs.missing', `inputsToLink has ${key}, which is no input of the ${engine} plan`);
}

function compareOutputs(given: readonly ToolOutput[], declared: readonly DeclaredOutput[], tell: Tell): void {
  const text = ({ role, type, label, src }: DeclaredOutput) => JSON.stringify([role, type, label, src]);
  const planned = new Set(given.map(({ srcRelpath = '', ...rest }) => text({ ...rest, src: srcRelpath })));
  const wanted = new Set(declared.map(text));
  for (const one of wanted)
    if (!planned.has(one)) tell('outputs.missing', `declaredOutputs has ${one}, and plan.io.outputs has not`);
  for (const one of planned)
    if (!wanted.has(one))
      tell('outputs.additional', `plan.io.outputs has ${one}, and declaredOutputs has not`);
  if (given.length > planned.size) tell('outputs.additional', 'plan.io.outputs has one of its outputs twice');
}

/** The same order whatever the pack's: equal plans are equal texts. */
function toExecution(draft: PlanDraft, outputs: readonly DeclaredOutput[]): ExecutionPlan {
  const inputs: RunInput[] = draft.inputs.map(({ role, artifact, dest }) => ({
    role,
    artifact: artifact as ObjectId,
    dest,
  }));
  return {
    ...(draft.image === undefined ? {} : { image: draft.image }),
    argv: draft.argv,
    env: draft.env,
    inputs: inputs.sort((a, b) => (a.dest < b.dest ? -1 : 1)),
    outputs,
    resources: draft.resources,
  };
}

/** One tool, one run id: what the engines are told may differ in what it uses up, and in nothing else. */
function compareEngines([a, first]: PlanOf, [b, second]: PlanOf, tell: Tell): void {
  for (const field of ['image', 'argv', 'env', 'inputs'] as const) {
    const [one, other] = [first[field] ?? null, second[field] ?? null].map((value) =>
      JSON.stringify(sorted(value)),
    );
    if (one !== other)
      tell('hybrid.differs', `the ${a} and the ${b} plan differ in ${field}: ${one} and ${other}`);
  }
}

type PlanOf = readonly [engine: string, plan: ExecutionPlan];

const sorted = (value: unknown): unknown =>
  isRecord(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value;

type Tell = (code: string, message: string) => void;

/** What one engine is told, with its places normal. */
interface PlanDraft {
  readonly engine: string;
  readonly image: string | undefined;
  readonly argv: readonly string[];
  readonly env: { readonly [name: string]: string };
  readonly inputs: readonly { readonly role: string; readonly artifact: string; readonly dest: string }[];
  /** Of slurm plans, which repeat what is declared. */
  readonly outputs: readonly ToolOutput[] | undefined;
  readonly resources: RunResources;
}

/** What a program may use up where its plan does not say. */
const USUAL: RunResources = {
  cpus: 1,
  memoryBytes: 1024 ** 3,
  wallMs: 3_600_000,
  outputBytes: 1024 ** 3,
};

/** Answers what could be read; what is wrong was told. */
function checkPlan(given: unknown, kind: PlanKind, dialects: Dialects, tell: Tell): readonly PlanDraft[] {
  if (!isRecord(given)) {
    tell('plan.invalid', `plan is ${show(given)}; it is an object`);
    return [];
  }
  if (given.kind !== kind) {
    tell('plan.kind', `plan.kind is ${show(given.kind)}, and the tool's planKind is "${kind}"`);
    return [];
  }
  if (kind !== 'hybrid') return [readPlan(given, kind, dialects[kind]!, 'plan', tell)];
  const engines = Object.keys(dialects);
  refuseUnknown(given, ['kind', ...engines], 'plan', tell);
  const said = engines.filter((engine) => given[engine] !== undefined);
  return (said.length > 1 ? said : engines).flatMap((engine) => {
    const one = given[engine];
    if (isRecord(one) && one.kind === engine)
      return [readPlan(one, engine, dialects[engine]!, `plan.${engine}`, tell)];
    tell('plan.kind', `plan.${engine} is ${show(one)}; it is a ${engine} plan`);
    return [];
  });
}

function readPlan(
  given: JsonObject,
  engine: string,
  dialect: PlanDialect,
  way: string,
  tell: Tell,
): PlanDraft {
  const own = dialect.io ? 'io' : 'inputs';
  refuseUnknown(given, ['kind', 'image', 'argv', 'env', own, 'resources'], way, tell);
  const io = dialect.io ? given.io : undefined;
  if (dialect.io && !isRecord(io))
    tell('plan.invalid', `${way}.io is ${show(io)}; it is { inputs, outputs }`);
  if (isRecord(io)) refuseUnknown(io, ['inputs', 'outputs'], `${way}.io`, tell);
  const list = dialect.io ? (isRecord(io) ? io.inputs : []) : given.inputs;
  return {
    engine,
    image: readImage(given.image, dialect, way, tell),
    argv: readArgv(given.argv, way, tell),
    env: readEnv(given.env, way, tell),
    inputs: readInputs(list, dialect, dialect.io ? `${way}.io.inputs` : `${way}.inputs`, tell),
    outputs: isRecord(io) ? readOutputs(io.outputs, `${way}.io.outputs`, tell) : undefined,
    resources: readResources(given.resources, way, tell),
  };
}

function refuseUnknown(given: JsonObject, known: readonly string[], way: string, tell: Tell): void {
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    if (/network/i.test(key))
      tell('network.refused', `${way}.${key} asks for a network, and version 1 of the ABI grants none`);
    else tell('plan.unknown', `${way} has no field "${key.slice(0, 80)}"`);
  }
}

/** By a digest: a tag is a name that can mean another image tomorrow. */
const PINNED = /^(?:[a-z0-9][a-z0-9._:/-]*@)?sha256:[0-9a-f]{64}$/;

function readImage(
  given: unknown,
  { mayOmitImage }: PlanDialect,
  way: string,
  tell: Tell,
): string | undefined {
  if (given === null || (given === undefined && mayOmitImage)) return undefined;
  if (typeof given === 'string' && PINNED.test(given)) return given;
  tell(
    'image.unpinned',
    `${way}.image is ${show(given)}; it is pinned by its digest (name@sha256:…), which ctx.images.pin answers, or null for the programs of the machine`,
  );
  return undefined;
}

function readArgv(given: unknown, way: string, tell: Tell): readonly string[] {
  const isWord = (word: unknown): word is string => typeof word === 'string' && !word.includes('\0');
  if (Array.isArray(given) && given.length > 0 && given.every(isWord) && given[0] !== '') return given;
  tell('argv.invalid', `${way}.argv is ${show(given)}; it is the program and its arguments`);
  return [];
}

function readEnv(given: unknown, way: string, tell: Tell): PlanDraft['env'] {
  if (given === undefined) return {};
  if (!isRecord(given)) {
    tell('env.invalid', `${way}.env is ${show(given)}; it is an object of texts`);
    return {};
  }
  for (const [name, value] of Object.entries(given)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || typeof value !== 'string' || value.includes('\0'))
      tell(
        'env.invalid',
        `${way}.env has ${show(name)}: names are of letters, digits and _, values are texts`,
      );
  }
  return given as PlanDraft['env'];
}

function readInputs(
  given: unknown,
  { dest: field, below: root }: PlanDialect,
  way: string,
  tell: Tell,
): PlanDraft['inputs'] {
  if (!Array.isArray(given)) {
    tell('inputs.invalid', `${way} is not a list`);
    return [];
  }
  const places: PathFact[] = [];
  const inputs = given.flatMap((input: unknown, n) => {
    const which = `${way}[${n}]`;
    if (!isRecord(input)) {
      tell('inputs.invalid', `${which} is not { role, artifactId, ${field} }`);
      return [];
    }
    refuseUnknown(input, ['role', 'artifactId', field], which, tell);
    const place = below(root, input[field]);
    if (!place.ok) {
      const code = input[field] === undefined || input[field] === '' ? 'dest.missing' : 'dest.unsafe';
      const strict = place.fact.includes('white space') ? 'dest.whitespace' : code;
      tell(strict, `${which}.${field} is ${show(input[field])}: ${place.fact}`);
    } else places.push({ given: String(input[field]), path: place.path });
    const dest = place.ok ? place.path : '';
    return [{ role: String(input.role), artifact: String(input.artifactId), dest }];
  });
  for (const [one, other] of collisions(places))
    tell('dest.collision', `${way}: ${field} "${one}" and "${other}" are in each other's way`);
  return inputs;
}

function readOutputs(given: unknown, way: string, tell: Tell): readonly ToolOutput[] {
  if (!Array.isArray(given)) {
    tell('outputs.invalid', `${way} is not a list`);
    return [];
  }
  return given.flatMap((output: unknown, n) => {
    if (!isRecord(output)) {
      tell('outputs.invalid', `${way}[${n}] is not { role, type, label, srcRelpath }`);
      return [];
    }
    refuseUnknown(output, ['role', 'type', 'label', 'srcRelpath'], `${way}[${n}]`, tell);
    const place = outputPlace(output.srcRelpath);
    if (!place.ok)
      tell('src_relpath.unsafe', `${way}[${n}].srcRelpath is ${show(output.srcRelpath)}: ${place.fact}`);
    const [role, type, label] = [output.role, output.type, output.label].map(String) as [
      string,
      string,
      string,
    ];
    return [{ role, type, label, srcRelpath: place.ok ? place.path : '' }];
  });
}

function readResources(given: unknown, way: string, tell: Tell): RunResources {
  if (given === undefined) return USUAL;
  if (!isRecord(given)) {
    tell('resources.invalid', `${way}.resources is ${show(given)}; it is an object`);
    return USUAL;
  }
  for (const [name, value] of Object.entries(given)) {
    const isKnown = Object.hasOwn(USUAL, name);
    const isAmount =
      typeof value === 'number' && value > 0 && (name === 'cpus' || Number.isSafeInteger(value));
    if (!isKnown || !isAmount)
      tell('resources.invalid', `${way}.resources.${name.slice(0, 80)} is ${show(value)}`);
  }
  return { ...USUAL, ...(given as Partial<RunResources>) };
}
