// Owns: the keys of a map against the table: which are not known, what was meant, which are missing.
// Refuses: looking at what the keys hold.

import { closest } from '../../base/closest.ts';
import { quoted } from '../../contract/diagnostic.ts';
import type { MapShape, Shape } from '../../contract/shape.ts';
import type { ShapeSite } from './shape-site.ts';
import { type Way, wayText } from './way.ts';

/** Tells of the key at the end of the way. Answers with the key that was meant, where that is clear. */
export function unknownKey(
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
export function missingKeys(
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
