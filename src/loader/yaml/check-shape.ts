// Owns: holding values against the table: unknown keys, wrong types, numbers out of range, texts that mean nothing.
// Refuses: stopping at the first problem, and letting anything through that the table does not name.

import { closest } from '../../base/closest.ts';
import { quoted } from '../../contract/diagnostic.ts';
import { applyShape, type ByShape, type MapShape, type Shape } from '../../contract/shape.ts';
import { missingKeys, unknownKey } from './check-keys.ts';
import { expected, typeHint } from './expected.ts';
import { findNonJson } from './find-non-json.ts';
import { describeFound, isUnreadable } from './located.ts';
import type { ShapeSite } from './shape-site.ts';
import { type Way, wayText } from './way.ts';

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
    if (value.length < (shape.least ?? 0)) {
      site.tell.error(shape.code ?? 'value.range', way, `${wayText(way)}: the list is empty`);
    }
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
      for (const { code, fact, hint } of site.texts(shape.key, step)) {
        site.tell.key(code, inner, `${wayText(way)}: ${quoted(step)}: ${fact}`, hint);
      }
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

const isMap = (value: unknown): value is Map =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isUnreadable(value);
