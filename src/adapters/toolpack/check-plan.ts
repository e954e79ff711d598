// Owns: the shape of plans as a toolpack writes them, in the dialect of one backend or of several, and the rules for what they name.
// Refuses: networks, unpinned images, places outside of `in/`, and fields that nobody knows.
import type { PlanDialect } from '../../contract/backend.ts';
import type { JsonObject } from '../../contract/json.ts';
import { below, collisions, outputPlace, type PathFact, type RunResources } from '../../contract/plan.ts';
import type { PlanKind, ToolOutput } from '../../contract/toolpack.ts';
import { type Dialects, isRecord, show } from './check-definition.ts';

export type Tell = (code: string, message: string) => void;

/** What one engine is told, with its places normal. */
export interface PlanDraft {
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
export function checkPlan(
  given: unknown,
  kind: PlanKind,
  dialects: Dialects,
  tell: Tell,
): readonly PlanDraft[] {
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
