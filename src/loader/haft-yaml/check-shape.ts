// Owns: holding located values against the table: unknown keys, wrong types, numbers out of range, texts that mean nothing.
// Refuses: stopping at the first problem, and letting anything through that the table does not name.
import { canonicalJson } from '../../base/canonical-json.ts';
import { closest } from '../../base/closest.ts';
import { describeFound, type Located, type LocatedMap, type Place, quoted, toPlain } from './located.ts';
import type { Report } from './report.ts';
import { applyShape, type ByShape, type MapShape, type Shape } from './shape.ts';
import { TEXT_CHECKS, type TextSite } from './text-checks.ts';

export interface ShapeSite extends TextSite {
  readonly report: Report;
  /** The whole table, to say where a misplaced key belongs. */
  readonly root: MapShape;
  /** Filled in: the place of every key and entry, by its path in the file. */
  readonly places: Map<string, Place>;
}

/** The value as plain data; whatever is wrong is reported, and undefined in it. */
export function checkShape(shape: Shape, node: Located, path: string, site: ShapeSite): unknown {
  return applyShape(CHECKS, shape, node, path, site);
}

const CHECKS: ByShape<[node: Located, path: string, site: ShapeSite], unknown> = {
  text(shape, node, path, site) {
    if (node.is !== 'scalar' || typeof node.value !== 'string') return wrongType(shape, node, path, site);
    const text = node.value;
    if (text === '' || !text.isWellFormed()) {
      const fact = text === '' ? 'it is empty' : 'it holds half a character';
      site.report.error('value.text', node.at, `${path}: ${fact}`);
      return undefined;
    }
    for (const { code, fact, hint, severity } of TEXT_CHECKS[shape.check](text, site)) {
      const message = `${path}: ${quoted(text)}: ${fact}`;
      if (severity) site.report.warn(code, node.at, message, hint);
      else site.report.error(code, node.at, message, hint);
    }
    return text;
  },
  choice(shape, node, path, site) {
    if (node.is !== 'scalar' || typeof node.value !== 'string') return wrongType(shape, node, path, site);
    if (shape.of.includes(node.value)) return node.value;
    const meant = closest(node.value, shape.of);
    const message = `${path}: expected ${expected(shape)}, found ${quoted(node.value)}`;
    site.report.error('value.choice', node.at, message, meant && `did you mean ${meant}?`);
    return undefined;
  },
  number(shape, node, path, site) {
    if (node.is !== 'scalar' || typeof node.value !== 'number') return wrongType(shape, node, path, site);
    const { value } = node;
    if (Number.isSafeInteger(value) && value >= shape.min && value <= shape.max) return value;
    site.report.error('value.range', node.at, `${path}: expected ${expected(shape)}, found ${value}`);
    return undefined;
  },
  flag(shape, node, path, site) {
    if (node.is === 'scalar' && typeof node.value === 'boolean') return node.value;
    return wrongType(shape, node, path, site);
  },
  constant(shape, node, path, site) {
    if (node.is === 'scalar' && node.value === shape.value) return node.value;
    const message = `${path}: expected ${shape.value}, found ${describeFound(node)}`;
    site.report.error('value.version', node.at, message, `${path}: ${shape.value}`);
    return undefined;
  },
  list(shape, node, path, site) {
    if (node.is !== 'list') return wrongType(shape, node, path, site);
    // What is wrong stays as a gap, so that the rest keeps its index.
    return node.items.map((item, at) => {
      site.places.set(`${path}[${at}]`, item.at);
      return checkShape(shape.item, item, `${path}[${at}]`, site);
    });
  },
  map(shape, node, path, site) {
    if (node.is !== 'map') return wrongType(shape, node, path, site);
    const value: { [key: string]: unknown } = {};
    for (const { key, keyAt, value: member } of node.entries) {
      const inner = path ? `${path}.${key}` : key;
      if (!Object.hasOwn(shape.keys, key)) {
        unknownKey(shape, key, keyAt, path, site);
        continue;
      }
      // Of a single value its own place is the better one; of a section, that of its key.
      site.places.set(inner, member.is === 'scalar' ? member.at : keyAt);
      const checked = checkShape(shape.keys[key] as Shape, member, inner, site);
      if (checked !== undefined) value[key] = checked;
    }
    missingKeys(shape, node, path, site);
    return value;
  },
  shorthand(shape, node, path, site) {
    if (node.is === 'map') return checkShape(shape.map, node, path, site);
    if (node.is === 'scalar' && typeof node.value === 'string')
      return checkShape(shape.text, node, path, site);
    return wrongType(shape, node, path, site);
  },
  open(shape, node, path, site) {
    if (node.is !== 'map') return wrongType(shape, node, path, site);
    const value = toPlain(node);
    try {
      canonicalJson(value);
      return value;
    } catch (error) {
      site.report.error('value.text', node.at, `${path}: ${(error as Error).message}`);
      return undefined;
    }
  },
};

/** What a shape takes, in words. */
export function expected(shape: Shape): string {
  return applyShape(EXPECTED, shape);
}

const EXPECTED: ByShape<[], string> = {
  text: () => 'text',
  choice: ({ of }) => `${of.slice(0, -1).join(', ')} or ${of.at(-1)}`,
  number: ({ min, max }) =>
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`,
  flag: () => 'true or false',
  constant: ({ value }) => `the number ${value}`,
  list: ({ item }) => `a list (each ${expected(item)})`,
  map: () => 'a map',
  shorthand: ({ map }) => `text or ${expected(map)}`,
  open: () => 'a map',
};

function wrongType(shape: Shape, node: Located, path: string, { report }: ShapeSite): undefined {
  if (node.is === 'other' && node.told) return undefined;
  const where = path || 'haft.yaml';
  const message = `${where}: expected ${expected(shape)}, found ${describeFound(node)}`;
  report.error('value.type', node.at, message, typeHint(shape, node));
  return undefined;
}

function typeHint(shape: Shape, node: Located): string | undefined {
  if (node.is !== 'scalar') return undefined;
  if (node.value === null) return 'give it a value or remove the key';
  if (shape.is === 'list') return `[${String(node.value).slice(0, 100)}]`;
  if (shape.is === 'flag') return FLAG_WORDS[String(node.value).toLowerCase()];
  if (shape.is === 'number' && /^\d+$/.test(String(node.value))) return `without quotes: ${node.value}`;
  if (shape.is === 'text' || shape.is === 'shorthand') return `in quotes: '${node.value}'`;
  return undefined;
}

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

function unknownKey(
  shape: MapShape,
  key: string,
  at: Place,
  path: string,
  { report, root }: ShapeSite,
): void {
  const meant = closest(key, Object.keys(shape.keys));
  const home = meant === undefined ? homeOf(key, root, '') : undefined;
  const hint = meant ? `did you mean ${meant}?` : home && `it belongs to ${home}`;
  const known = Object.keys(shape.keys).join(', ');
  const where = path || 'haft.yaml';
  report.error('key.unknown', at, `${where} has no key ${quoted(key)}; it may have ${known}`, hint);
}

/** The path of the section that has a key of this name. */
function homeOf(key: string, shape: Shape, path: string): string | undefined {
  if (shape.is === 'list') return homeOf(key, shape.item, `${path}[]`);
  if (shape.is === 'shorthand') return homeOf(key, shape.map, path);
  if (shape.is !== 'map') return undefined;
  if (path && Object.hasOwn(shape.keys, key)) return path;
  for (const [name, inner] of Object.entries(shape.keys)) {
    const found = homeOf(key, inner, path ? `${path}.${name}` : name);
    if (found) return found;
  }
  return undefined;
}

function missingKeys(shape: MapShape, node: LocatedMap, path: string, { report }: ShapeSite): void {
  const present = new Set(node.entries.map(({ key }) => key));
  const where = path || 'haft.yaml';
  for (const key of shape.required ?? []) {
    if (present.has(key)) continue;
    const inner = shape.keys[key];
    const hint = inner?.is === 'constant' ? `${key}: ${inner.value}` : undefined;
    report.error('key.missing', node.at, `${where} needs the key ${key}`, hint);
  }
  if (shape.someOf && !shape.someOf.some((key) => present.has(key))) {
    report.error('key.missing', node.at, `${where} needs ${shape.someOf.join(' or ')}, or it says nothing`);
  }
}
