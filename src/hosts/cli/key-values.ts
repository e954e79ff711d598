// Owns: arguments of a call as people type them: `path=README.md limit=3 tags=a tags=b env.CI=1 body=@file filter:='{"a":1}'`.
// Refuses: to guess: a value that does not fit the tool's schema, or a name that is not in it, is said before the call.

import { closestArgument } from '../../base/closest-argument.ts';
import { parseStrict } from '../../base/strict-json.ts';
import { fail } from '../../contract/errors.ts';
import type { Json, JsonObject, JsonSchema } from '../../contract/json.ts';
import { readFileArgument } from './read-argument.ts';

const PAIR = /^([\w$][\w$.-]*)(:?)=(.*)$/s;
const LARGEST = 64 * 1024 * 1024;

interface Shape {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
}

export async function readKeyValues(
  words: readonly string[],
  tool: string,
  input: JsonSchema,
): Promise<JsonObject> {
  const args: Record<string, Json> = {};
  const given = new Set<string>();
  for (const word of words) {
    const [, name = '', isJson, text = ''] = PAIR.exec(word) ?? [];
    if (name === '')
      throw refused(word, `it is not key=value; "haft tools show ${tool}" lists its arguments`);
    const { path, shape } = placeOf(name, input, tool);
    const value = isJson ? json(await textOf(text, name), name) : await typed(text, name, shape);
    put(args, path, value, { shape, isAgain: given.has(name), name });
    given.add(name);
  }
  return args;
}

const refused = (word: string, fact: string) =>
  fail('usage', `Cannot use the argument "${word.slice(0, 80)}": ${fact}`);

const shapeOf = (schema: JsonSchema | undefined): Shape =>
  typeof schema === 'object' ? (schema as Shape) : {};

/** A field of an object is named behind a dot, unless the tool has an argument of just that name. */
function placeOf(name: string, input: JsonSchema, tool: string): { path: readonly string[]; shape: Shape } {
  const { properties = {}, additionalProperties } = shapeOf(input);
  if (Object.hasOwn(properties, name)) return { path: [name], shape: shapeOf(properties[name]) };
  const [first = '', ...rest] = name.split('.');
  if (rest.length > 0 && Object.hasOwn(properties, first)) {
    let shape = shapeOf(properties[first]);
    for (const step of rest) {
      const isKnown = Object.hasOwn(shape.properties ?? {}, step);
      if (!isKnown && (shape.additionalProperties === false || !takes(shape, 'object')))
        throw refused(name, `"${first}" has no such field`);
      shape = shapeOf(isKnown ? shape.properties![step] : shape.additionalProperties);
    }
    return { path: [first, ...rest], shape };
  }
  if (additionalProperties !== false) return { path: [name], shape: shapeOf(additionalProperties) };
  const known = Object.keys(properties);
  const near = closestArgument(name, known);
  throw refused(
    name,
    near
      ? `${tool} has no such argument; did you mean "${near}"?`
      : `${tool} has no such argument; ${known.length > 0 ? `it takes ${known.join(', ')}` : 'it takes none'}`,
  );
}

const typesOf = ({ type }: Shape): readonly unknown[] =>
  Array.isArray(type) ? type : type === undefined ? [] : [type];

/** Where the schema says nothing of types, a text is what was typed. */
const takes = (shape: Shape, type: string): boolean => typesOf(shape).includes(type);

async function textOf(text: string, name: string): Promise<string> {
  if (!text.startsWith('@')) return text;
  const bytes = await readFileArgument(text.slice(1), LARGEST);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw refused(`${name}=${text}`, 'the file is not UTF-8 text');
  }
}

function json(text: string, name: string): Json {
  try {
    return parseStrict(text) as Json;
  } catch (thrown) {
    throw refused(name, `after ":=" comes JSON: ${(thrown as Error).message}`);
  }
}

async function typed(given: string, name: string, shape: Shape): Promise<Json> {
  const among = shape.enum;
  const chosen = among?.find((one) => String(one) === given);
  if (chosen !== undefined) return chosen as Json;
  const text = await textOf(given, name);
  if (takes(shape, 'array')) {
    if (text.trimStart().startsWith('[')) return json(text, name);
    return typed(given, name, shapeOf(shape.items));
  }
  if (takes(shape, 'string') || typesOf(shape).length === 0) return text;
  if (takes(shape, 'integer') || takes(shape, 'number')) {
    const number = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
    if (Number.isFinite(number) && (takes(shape, 'number') || Number.isSafeInteger(number))) return number;
    if (!takes(shape, 'boolean'))
      throw refused(`${name}=${given}`, `it takes a ${takes(shape, 'number') ? 'number' : 'whole number'}`);
  }
  if (takes(shape, 'boolean')) {
    if (text === 'true' || text === 'false') return text === 'true';
    throw refused(`${name}=${given}`, 'it takes true or false');
  }
  if (takes(shape, 'null') && text === 'null') return null;
  if (takes(shape, 'object') && text.trimStart().startsWith('{')) return json(text, name);
  throw refused(
    `${name}=${given}`,
    `it takes JSON: ${name}:='{…}'${takes(shape, 'object') ? `, or ${name}.KEY=VALUE` : ''}`,
  );
}

interface Placed {
  readonly shape: Shape;
  readonly isAgain: boolean;
  readonly name: string;
}

/** The same name again adds to a list; of anything else it is a slip. */
function put(
  args: Record<string, Json>,
  path: readonly string[],
  value: Json,
  { shape, isAgain, name }: Placed,
): void {
  let at = args;
  for (const step of path.slice(0, -1)) {
    const next = Object.hasOwn(at, step) ? at[step] : undefined;
    if (next !== undefined && (typeof next !== 'object' || next === null || Array.isArray(next)))
      throw refused(name, `"${step}" was given as something else before`);
    const inner = (next ?? {}) as Record<string, Json>;
    own(at, step, inner);
    at = inner;
  }
  const last = path.at(-1)!;
  const isList = takes(shape, 'array');
  if (!isList && (isAgain || Object.hasOwn(at, last))) throw refused(name, 'it is given twice');
  const before = (Object.hasOwn(at, last) ? at[last] : []) as readonly Json[];
  own(at, last, isList ? [...before, ...(Array.isArray(value) ? value : [value])] : value);
}

/** `__proto__` is a name like any other. */
function own(target: Record<string, Json>, key: string, value: Json): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
