// Owns: the rules that a tool definition of the ABI keeps before anybody calls it, each with its own diagnostic.
// Refuses: nothing by itself; it tells everything at once, and the loader refuses.

import { closest } from '../../base/closest.ts';
import type { PlanDialect } from '../../contract/backend.ts';
import type { JsonObject } from '../../contract/json.ts';
import { collisions, outputPlace, type PathFact } from '../../contract/plan.ts';
import { LOG_ROLE, TOOLPACK_ABI } from '../../contract/toolpack.ts';
import type { ThrownPlace } from './where-thrown.ts';

/** What the pack's process says of one definition. */
export interface Described {
  readonly fields: { readonly [key: string]: unknown };
  readonly functions: readonly string[];
  readonly faults: readonly { readonly key: string; readonly path?: string; readonly fact: string }[];
}

export interface Finding {
  /** The rule that is broken. */
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** A word of the source that the diagnostic can point at. */
  readonly near?: string;
  /** Where it is, where that is known. */
  readonly at?: ThrownPlace;
}

/** How plans are written, by the backend that they are for. */
export type Dialects = { readonly [engine: string]: PlanDialect };

type Fields = Described['fields'];

/** One rule each; `undefined` where it is kept. */
const RULES: readonly ((
  fields: Fields,
  described: Described,
  dialects: Dialects,
) => Finding | readonly Finding[] | undefined)[] = [
  ({ abiVersion }) =>
    abiVersion === TOOLPACK_ABI
      ? undefined
      : {
          code: 'abi.unknown',
          message: `abiVersion is ${show(abiVersion)}; this host knows "${TOOLPACK_ABI}"`,
          near: 'abiVersion',
        },
  ({ toolName }) =>
    typeof toolName === 'string' && /^[a-z][a-z0-9_]*$/.test(toolName) && toolName.length <= 64
      ? undefined
      : {
          code: 'name.invalid',
          message: `toolName is ${show(toolName)}; it is made of small letters, digits and _, begins with a letter, and has at most 64 of them`,
          near: 'toolName',
        },
  ({ contractVersion }) =>
    typeof contractVersion === 'string' && /^v[1-9][0-9]*$/.test(contractVersion)
      ? undefined
      : {
          code: 'contract.invalid',
          message: `contractVersion is ${show(contractVersion)}; it is "v" and a number from 1`,
          near: 'contractVersion',
        },
  ({ planKind }, _, dialects) =>
    kindsOf(dialects).includes(planKind as string)
      ? undefined
      : {
          code: 'plan_kind.unknown',
          message: `planKind is ${show(planKind)}; there are ${kindsOf(dialects).join(', ')}`,
          near: 'planKind',
        },
  ({ description }) =>
    typeof description === 'string' && description.trim() !== ''
      ? undefined
      : {
          code: 'description.missing',
          message: 'description is missing; it is what a caller chooses by',
          near: 'description',
        },
  (_fields, { functions }) =>
    ['canonicalize', 'run']
      .filter((name) => !functions.includes(name))
      .map((name) => ({ code: 'function.missing', message: `${name} is not a function`, near: name })),
  (_fields, { faults }) =>
    faults.map(({ key, path = '', fact }) => ({
      code: key === 'input' || key === 'result' ? 'schema.invalid' : 'field.not_json',
      message: `${key === '' ? 'the default export' : `${key}${path}`} cannot be taken: ${fact}`,
      near: key,
    })),
  ({ input }, { faults }) =>
    input !== undefined || faults.some(({ key }) => key === 'input')
      ? undefined
      : {
          code: 'schema.missing',
          message: 'input is missing: the JSON Schema of the arguments',
          near: 'input',
        },
  (fields) =>
    networkFields(fields).length > 0
      ? {
          code: 'network.refused',
          message: 'it asks for a network, and version 1 of the ABI grants none',
          hint: 'import what it needs as an artifact first',
          near: 'network',
        }
      : undefined,
  (fields) =>
    Object.keys(fields)
      .filter((key) => !KNOWN.includes(key) && !networkFields(fields).includes(key))
      .map((key) => {
        const near = closest(key, KNOWN);
        return {
          code: 'field.unknown',
          message: `"${key.slice(0, 80)}" is no field of a definition`,
          ...(near ? { hint: `did you mean ${near}?` } : {}),
          near: key,
        };
      }),
  ({ title }) => textFinding('title', title, true),
  ({ tags }) =>
    tags === undefined || (Array.isArray(tags) && tags.every(isStrictText))
      ? undefined
      : { code: 'field.invalid', message: 'tags is a list of words', near: 'tags' },
  ({ limits }) => limitFinding(limits),
  ({ examples }) =>
    examples === undefined ||
    (Array.isArray(examples) &&
      examples.every(
        (one) =>
          isRecord(one) && isStrictText(one.title) && isRecord(one.args) && Object.keys(one).length === 2,
      ))
      ? undefined
      : { code: 'field.invalid', message: 'examples is a list of { title, args }', near: 'examples' },
  ({ mutableState }) => mutableStateFinding(mutableState),
  (fields, _, dialects) => outputFindings(fields, dialects),
];

export function checkDefinition(described: Described, dialects: Dialects): readonly Finding[] {
  const findings = RULES.flatMap((rule) => rule(described.fields, described, dialects) ?? []);
  const { toolName } = described.fields;
  const whose = typeof toolName === 'string' ? `${toolName.slice(0, 80)}: ` : '';
  return findings.map((finding) => ({ ...finding, message: `${whose}${finding.message}` }));
}

const kindsOf = (dialects: Dialects): readonly string[] => [...Object.keys(dialects), 'hybrid'];

const KNOWN = [
  'abiVersion',
  'toolName',
  'contractVersion',
  'planKind',
  'title',
  'description',
  'tags',
  'input',
  'result',
  'declaredOutputs',
  'mutableState',
  'limits',
  'examples',
  'canonicalize',
  'run',
];

/** In whatever words: there is nothing that could be granted. */
function networkFields(fields: Fields): readonly string[] {
  return Object.keys(fields).filter(
    (key) =>
      !KNOWN.includes(key) && (/network/i.test(key) || /"[^"]*network/i.test(JSON.stringify(fields[key]))),
  );
}

function outputFindings({ declaredOutputs, planKind }: Fields, dialects: Dialects): readonly Finding[] {
  const at = { near: 'declaredOutputs' };
  if (!Array.isArray(declaredOutputs))
    return [{ code: 'outputs.missing', message: 'declaredOutputs is not a list', ...at }];
  const findings: Finding[] = [];
  const roles = new Set<string>();
  const places: PathFact[] = [];
  for (const [n, output] of declaredOutputs.entries()) {
    const which = `declaredOutputs[${n}]`;
    if (!isRecord(output)) {
      findings.push({
        code: 'outputs.invalid',
        message: `${which} is not { role, type, label, srcRelpath }`,
        ...at,
      });
      continue;
    }
    const unknown = Object.keys(output).find((key) => !['role', 'type', 'label', 'srcRelpath'].includes(key));
    if (unknown !== undefined)
      findings.push({
        code: 'outputs.invalid',
        message: `${which} has no field "${unknown.slice(0, 80)}"`,
        ...at,
      });
    for (const key of ['role', 'type', 'label'] as const) {
      const finding = textFinding(`${which}.${key}`, output[key], false);
      if (finding) findings.push({ ...finding, ...at });
    }
    const { role, srcRelpath } = output;
    if (isStrictText(role) && !isWord(role))
      findings.push({
        code: 'text.whitespace',
        message: `${which}.role is ${show(role)}: a role has no white space`,
        ...at,
      });
    if (role === LOG_ROLE)
      findings.push({
        code: 'role.reserved',
        message: `${which}.role is "${LOG_ROLE}", which every run makes by itself`,
        ...at,
      });
    if (roles.has(role as string))
      findings.push({
        code: 'role.duplicate',
        message: `${which}.role is "${role as string}", as another output's is`,
        ...at,
      });
    roles.add(role as string);
    const place = outputPlace(
      srcRelpath ?? (dialects[planKind as string]?.io === false ? `out/${role as string}` : undefined),
    );
    if (!place.ok)
      findings.push({
        code: 'src_relpath.unsafe',
        message: `${which}.srcRelpath is ${show(srcRelpath)}: ${place.fact}`,
        ...at,
      });
    else places.push({ given: `out/${place.path}`, path: place.path });
  }
  for (const [one, other] of collisions(places))
    findings.push({
      code: 'src_relpath.collision',
      message: `srcRelpath "${one}" and "${other}" are in each other's way`,
      ...at,
    });
  return findings;
}

function mutableStateFinding(given: unknown): Finding | undefined {
  const isGood = (one: unknown): boolean =>
    isRecord(one) && isStrictText(one.name) && isStrictText(one.snapshot) && Object.keys(one).length === 2;
  if (given === undefined || (Array.isArray(given) && given.every(isGood))) return undefined;
  return {
    code: 'mutable_state.invalid',
    message:
      'mutableState is a list of { name, snapshot }: what can change, and the field of canonicalParams that pins it',
    near: 'mutableState',
  };
}

function limitFinding(limits: unknown): Finding | undefined {
  const isCount = (value: unknown): boolean =>
    value === undefined || (Number.isSafeInteger(value) && (value as number) > 0);
  if (limits === undefined) return undefined;
  if (isRecord(limits)) {
    const { timeoutMs, maxInputBytes, ...others } = limits;
    if (isCount(timeoutMs) && isCount(maxInputBytes) && Object.keys(others).length === 0) return undefined;
  }
  return {
    code: 'field.invalid',
    message: 'limits is { timeoutMs, maxInputBytes }, whole numbers from 1',
    near: 'limits',
  };
}

/** A word that a person sees: not empty, on one line, without white space at its ends. */
export function isStrictText(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.trim() === value &&
    !/[\u0000-\u001f\u007f]/.test(value)
  );
}

/** What roles are made of. */
export const isWord = (value: unknown): value is string => isStrictText(value) && !/\s/.test(value);

function textFinding(name: string, value: unknown, optional: boolean): Finding | undefined {
  if (isStrictText(value) || (optional && value === undefined)) return undefined;
  if (typeof value === 'string' && value !== '')
    return {
      code: 'text.whitespace',
      message: `${name} is ${show(value)}: white space at its ends, or a line break`,
    };
  return { code: 'field.invalid', message: `${name} is ${show(value)}; it is a text` };
}

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const show = (value: unknown): string =>
  value === undefined ? 'missing' : (JSON.stringify(value) ?? typeof value).slice(0, 120);
