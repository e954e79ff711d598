// Owns: holding values against the table: unknown keys, wrong types, numbers out of range, texts that mean nothing.
// Refuses: stopping at the first problem, and letting anything through that the table does not name.
import { closest } from '../../base/closest.ts';
import { isRecord } from '../../base/is-record.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { applyShape, type ByShape, type ListShape, type MapShape, type Shape } from '../../contract/shape.ts';
import { describeFound, isUnreadable } from './located.ts';
import type { ShapeSite } from './shape-site.ts';
import { type Way, wayOf, wayText } from './way.ts';

type Map = { readonly [key: string]: unknown };

/** The value as far as it is right; whatever is wrong is told, and undefined in it. */
export function checkShape(shape: Shape, value: unknown, way: Way | undefined, site: ShapeSite): unknown {
  return applyShape(CHECKS, shape, value, way, site);
}

const CHECKS: ByShape<[value: unknown, way: Way | undefined, site: ShapeSite], unknown> = {
  text(shape, value, way, site) {
    if (typeof value !== 'string') return wrongType(shape, value, way, site);
    if ((value === '' && !shape.empty) || !value.isWellFormed()) {
      const fact = value === '' ? 'it is empty' : 'it holds half a character';
      site.tell.error(shape.code ?? 'value.text', way, `${wayText(way)}: ${fact}`);
      return undefined;
    }
    let wrong = false;
    for (const { code, fact, hint, severity } of site.texts(shape.check, value)) {
      const message = `${wayText(way)}: ${quoted(value)}: ${fact}`;
      site.tell[severity ? 'warn' : 'error'](code, way, message, hint);
      wrong ||= severity === undefined;
    }
    return wrong ? undefined : value;
  },
  choice(shape, value, way, site) {
    if (typeof value !== 'string') return wrongType(shape, value, way, site);
    if (shape.of.includes(value)) return value;
    const meant = closest(value, shape.of);
    const message = `${wayText(way)}: expected ${expected(shape)}, found ${quoted(value)}`;
    site.tell.error(shape.code ?? 'value.choice', way, message, meant && `did you mean ${meant}?`);
    return undefined;
  },
  number(shape, value, way, site) {
    if (typeof value !== 'number') return wrongType(shape, value, way, site);
    const whole = shape.fraction ? Number.isFinite(value) : Number.isSafeInteger(value);
    if (whole && value >= shape.min && value <= shape.max) return value;
    const message = `${wayText(way)}: expected ${expected(shape)}, found ${value}`;
    site.tell.error(shape.code ?? 'value.range', way, message);
    return undefined;
  },
  flag(shape, value, way, site) {
    return typeof value === 'boolean' ? value : wrongType(shape, value, way, site);
  },
  constant(shape, value, way, site) {
    if (value === shape.value) return value;
    const path = wayText(way);
    const message = `${path}: expected ${shape.value}, found ${describeFound(value)}`;
    site.tell.error(shape.code ?? 'value.version', way, message, `${path}: ${shape.value}`);
    return undefined;
  },
  list(shape, value, way, site) {
    if (!Array.isArray(value)) return wrongType(shape, value, way, site);
    if (value.length < (shape.least ?? 0))
      site.tell.error(shape.code ?? 'value.range', way, `${wayText(way)}: the list is empty`);
    // What is wrong stays as a gap, so that the rest keeps its index.
    return value.map((item, step) => checkShape(shape.item, item, { up: way, step }, site));
  },
  map(shape, value, way, site) {
    return isMap(value) ? checkMap(shape, value, way, site) : wrongType(shape, value, way, site);
  },
  record(shape, value, way, site) {
    if (!isMap(value)) return wrongType(shape, value, way, site);
    const entries = Object.entries(value).map(([step, member]) => {
      const inner: Way = { up: way, step };
      for (const { code, fact, hint } of site.texts(shape.key, step))
        site.tell.key(code, inner, `${wayText(way)}: ${quoted(step)}: ${fact}`, hint);
      return [step, checkShape(shape.value, member, inner, site)];
    });
    return Object.fromEntries(entries);
  },
  variants(shape, value, way, site) {
    if (!isMap(value)) return wrongType(shape, value, way, site);
    const choice = Object.hasOwn(value, shape.key) ? value[shape.key] : undefined;
    if (choice === undefined) {
      const message = `${wayText(way)} needs the key ${shape.key}, which is ${expected(shape.by)}`;
      site.tell.error(shape.by.code ?? 'key.missing', way, message);
      return undefined;
    }
    if (checkShape(shape.by, choice, { up: way, step: shape.key }, site) === undefined) return undefined;
    return checkMap(shape.of[choice as string] as MapShape, value, way, site);
  },
  shorthand(shape, value, way, site) {
    if (isMap(value)) return checkShape(shape.map, value, way, site);
    if (typeof value === 'string') return checkShape(shape.text, value, way, site);
    return wrongType(shape, value, way, site);
  },
  open(shape, value, way, site) {
    return isMap(value) ? checkJson(shape, value, way, site) : wrongType(shape, value, way, site);
  },
  json: (shape, value, way, site) => checkJson(shape, value, way, site),
  schema(shape, value, way, site) {
    if (!isMap(value)) return wrongType(shape, value, way, site);
    const json = checkJson(shape, value, way, site);
    return json === undefined || !site.schema ? json : site.schema(json, way);
  },
};

const NONE: ReadonlySet<string> = new Set();

function checkMap(shape: MapShape, map: Map, way: Way | undefined, site: ShapeSite): Map {
  const value: { [key: string]: unknown } = {};
  let meant = NONE;
  for (const step of Object.keys(map)) {
    const inner: Way = { up: way, step };
    if (!Object.hasOwn(shape.keys, step)) {
      const near = unknownKey(shape, inner, map[step], site);
      if (near) meant = new Set(meant).add(near);
      continue;
    }
    const checked = checkShape(shape.keys[step] as Shape, map[step], inner, site);
    if (checked !== undefined) value[step] = checked;
  }
  missingKeys(shape, map, meant, way, site);
  return value;
}

function checkJson(shape: Shape, value: unknown, way: Way | undefined, { tell }: ShapeSite): unknown {
  const bad = findNonJson(value, way);
  if (!bad) return value;
  if (!bad.told) tell.error(shape.code ?? 'value.json', bad.way, `${wayText(bad.way)}: ${bad.fact}`);
  return undefined;
}

function wrongType(shape: Shape, value: unknown, way: Way | undefined, site: ShapeSite): undefined {
  if (isUnreadable(value) && value.told) return undefined;
  const message = `${wayText(way) || site.name}: expected ${expected(shape)}, found ${describeFound(value)}`;
  site.tell.error(shape.code ?? 'value.type', way, message, typeHint(shape, value));
  return undefined;
}

const isMap = (value: unknown): value is Map => isRecord(value) && !isUnreadable(value);

/** Tells of the key at the end of the way. Answers with the key that was meant, where that is clear. */
function unknownKey(
  shape: MapShape,
  way: Way,
  value: unknown,
  { tell, root, name }: ShapeSite,
): string | undefined {
  const key = String(way.step);
  const where = wayText(way.up) || name;
  const camel = camelCase(key);
  if (camel !== key && Object.hasOwn(shape.keys, camel)) {
    const message = `${where} has no key ${quoted(key)}; its keys are written in camelCase`;
    tell.key('key.snake_case', way, message, `write ${camel}`);
    return camel;
  }
  const known = Object.keys(shape.keys);
  const meant = closest(key, known) ?? onlyOne(known.filter((one) => hasWord(one, key)));
  const homes = meant === undefined ? homesOf(key, value, root, '') : [];
  const home = homes.find((one) => one === TOP) ?? homes.slice(0, SHOWN_HOMES).join(' or ');
  const hint = meant ? `did you mean ${meant}?` : home && `it belongs to ${home}`;
  const message = `${where} has no key ${quoted(key)}; it may have ${known.join(', ')}`;
  tell.key('key.unknown', way, message, hint);
  return meant;
}

/** `meant` are keys that are there under another spelling, and were told. */
function missingKeys(
  shape: MapShape,
  map: object,
  meant: ReadonlySet<string>,
  way: Way | undefined,
  { tell, name }: ShapeSite,
): void {
  const missing = (key: string) => !Object.hasOwn(map, key) && !meant.has(key);
  for (const key of shape.required ?? []) {
    if (!missing(key)) continue;
    const inner = shape.keys[key];
    const hint = inner?.is === 'constant' ? `${key}: ${inner.value}` : undefined;
    tell.error('key.missing', way, `${wayText(way) || name} needs the key ${key}`, hint);
  }
  if (shape.someOf?.every(missing)) {
    const message = `${wayText(way) || name} needs ${shape.someOf.join(' or ')}, or it says nothing`;
    tell.error('key.missing', way, message);
  }
}

/** Where the whole file has a key of this name, that is what was meant. */
const TOP = 'the top of the file';
const SHOWN_HOMES = 2;

/** The sections that have a key of this name which could hold this value. */
function homesOf(key: string, value: unknown, shape: Shape, path: string): readonly string[] {
  if (shape.is === 'list') return homesOf(key, value, shape.item, `${path}[]`);
  if (shape.is === 'shorthand') return homesOf(key, value, shape.map, path);
  if (shape.is === 'record') return homesOf(key, value, shape.value, `${path}.${shape.keyName}`);
  if (shape.is === 'variants') {
    const found = Object.entries(shape.of).find(([, { keys }]) => holds(keys, key, value));
    return found ? [`${path} of ${shape.key} ${found[0]}`] : [];
  }
  if (shape.is !== 'map') return [];
  const here = holds(shape.keys, key, value) ? [path || TOP] : [];
  const below = Object.entries(shape.keys).flatMap(([name, inner]) =>
    homesOf(key, value, inner, path ? `${path}.${name}` : name),
  );
  return [...here, ...below];
}

const holds = (keys: MapShape['keys'], key: string, value: unknown): boolean =>
  Object.hasOwn(keys, key) && fits(keys[key] as Shape, value);

/** As far as the kind of value goes. */
function fits(shape: Shape, value: unknown): boolean {
  const kind = Array.isArray(value) ? 'list' : value === null ? 'nothing' : typeof value;
  return KINDS[shape.is]?.includes(kind) ?? true;
}

const KINDS: { readonly [K in Shape['is']]?: readonly string[] } = {
  text: ['string'],
  choice: ['string'],
  number: ['number'],
  constant: ['number'],
  flag: ['boolean'],
  list: ['list'],
  map: ['object'],
  record: ['object'],
  variants: ['object'],
  open: ['object'],
  schema: ['object'],
  shorthand: ['string', 'object'],
};

/** `input` is a word of `maxInputBytes`. */
const hasWord = (key: string, word: string): boolean =>
  word.length > 2 &&
  key
    .split(/(?=[A-Z])|_/)
    .map((one) => one.toLowerCase())
    .includes(word.toLowerCase());

const onlyOne = (found: readonly string[]): string | undefined => (found.length === 1 ? found[0] : undefined);

const camelCase = (key: string): string =>
  key.replaceAll(/[_-]+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** For messages and pages: `a whole number from 1`. */
export function expected(shape: Shape): string {
  return applyShape(EXPECTED, shape);
}

const EXPECTED: ByShape<[], string> = {
  text: () => 'text',
  choice: ({ of }) => (of.length > 1 ? `${of.slice(0, -1).join(', ')} or ${of.at(-1)}` : String(of[0])),
  number: ({ min, max, fraction }) => {
    const what = fraction ? 'a number' : 'a whole number';
    return max === Number.MAX_SAFE_INTEGER ? `${what} from ${min}` : `${what} from ${min} to ${max}`;
  },
  flag: () => 'true or false',
  constant: ({ value }) => `the number ${value}`,
  list: ({ item }) => `a list (each ${expected(item)})`,
  map: () => 'a map',
  record: ({ keyName, value }) => `a map (${keyName} to ${expected(value)})`,
  variants: () => 'a map',
  shorthand: ({ map }) => `text or ${expected(map)}`,
  open: () => 'a map',
  json: () => 'any value of JSON',
  schema: () => 'a JSON Schema',
};

function typeHint(shape: Shape, value: unknown): string | undefined {
  if (value === null) return 'give it a value or remove the key';
  if (shape.is === 'text' && shape.example) return `such as ${shape.example}`;
  if (typeof value === 'object') return undefined;
  if (shape.is === 'list') return listHint(shape, String(value).slice(0, 100));
  if (shape.is === 'flag') return FLAG_WORDS[String(value).toLowerCase()];
  if (shape.is === 'number' && /^\d+$/.test(String(value))) return `without quotes: ${value}`;
  if (shape.is === 'text' || shape.is === 'shorthand') return `in quotes: '${value}'`;
  return undefined;
}

/** One entry; of a command, its words. What only a shell understands is not taken apart here. */
function listHint({ words }: ListShape, text: string): string {
  if (!words) return `[${flowText(text)}]`;
  if (/["'`$|&;<>()*?\\~]/.test(text))
    return `[sh, -c, ${quoteSingly(text)}], since no shell reads it otherwise`;
  return `[${text.trim().split(/\s+/).map(flowText).join(', ')}]`;
}

/** As it would be written in a list between brackets. */
const flowText = (text: string): string =>
  /^[A-Za-z0-9_./+^-][A-Za-z0-9_./+^$*?-]*$/.test(text) && !/^(-|true|false|null|[-+.\d_]+)$/.test(text)
    ? text
    : quoteSingly(text);

const quoteSingly = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const FLAG_WORDS: { readonly [word: string]: string } = {
  yes: 'true',
  on: 'true',
  1: 'true',
  true: 'true, without quotes',
  no: 'false',
  off: 'false',
  0: 'false',
  false: 'false, without quotes',
};

interface NonJson {
  readonly way: Way | undefined;
  readonly fact: string;
  /** Whether a diagnostic was made of it already. */
  readonly told: boolean;
}

/** The first one, or undefined where all of it is JSON. Nothing is made as long as all is well. */
export function findNonJson(value: unknown, way: Way | undefined): NonJson | undefined {
  const found = find(value);
  return found && { way: wayOf(found.steps.reverse(), way), fact: found.fact, told: found.told };
}

/** The steps are from the inside to the outside. */
function find(value: unknown): Found | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : bad('it holds half a character');
  if (typeof value === 'number') return isExact(value) ? undefined : bad(`${NUMBER_FACT}: ${value}`);
  if (typeof value !== 'object' || value === null) return undefined;
  if (isUnreadable(value)) return bad(`found ${describeFound(value)}`, value.told);
  if (Array.isArray(value)) {
    for (let step = 0; step < value.length; step++) {
      const found = find(value[step]);
      if (found) return below(found, step);
    }
    return undefined;
  }
  for (const step of Object.keys(value)) {
    const found = step.isWellFormed()
      ? find((value as { readonly [key: string]: unknown })[step])
      : bad('its key holds half a character');
    if (found) return below(found, step);
  }
  return undefined;
}

interface Found extends Omit<NonJson, 'way'> {
  readonly steps: (string | number)[];
}

const bad = (fact: string, told = false): Found => ({ fact, told, steps: [] });

function below(found: Found, step: string | number): Found {
  found.steps.push(step);
  return found;
}

const NUMBER_FACT = 'it is a number that JSON cannot hold exactly';

/** Beyond 2^53 the digits would claim a precision that is not there; from 1e21 on there is an exponent. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) >= 1e21);
