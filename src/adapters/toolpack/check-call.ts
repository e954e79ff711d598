// Owns: the rules that the answer of `canonicalize` keeps, each with its own word, and the one plan that comes out of it.
// Refuses: repair. A plan that breaks a rule is told all that is wrong with it, and does not run.
import { canonicalJson } from '../../base/canonical-json.ts';
import { isFailure } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import type { DeclaredOutput, ExecutionPlan, RunInput } from '../../contract/plan.ts';
import type { MutableState, PlanKind, ToolOutput } from '../../contract/toolpack.ts';
import { type Dialects, isRecord, isWord, show } from './check-definition.ts';
import { checkPlan, type PlanDraft, type Tell } from './check-plan.ts';

export interface CallRules {
  readonly planKind: PlanKind;
  readonly dialects: Dialects;
  readonly outputs: readonly DeclaredOutput[];
  readonly mutableState: readonly MutableState[];
  /** Artifacts that the arguments name: what a call may use. */
  readonly named: ReadonlySet<string>;
}

export interface CheckedCall {
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
