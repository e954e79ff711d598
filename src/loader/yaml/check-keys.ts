// Owns: the keys of a map against the table: which are not known, what was meant, which are missing.
// Refuses: looking at what the keys hold.
import { closest } from '../../base/closest.ts';
import { quoted } from './located.ts';
import type { MapShape, Shape } from './shape.ts';
import type { ShapeSite } from './shape-site.ts';
import { type Way, wayText } from './way.ts';

/** Tells of the key at the end of the way. Answers with the key that was meant, where that is clear. */
export function unknownKey(shape: MapShape, way: Way, { tell, root, name }: ShapeSite): string | undefined {
  const key = String(way.step);
  const where = wayText(way.up) || name;
  const camel = camelCase(key);
  if (camel !== key && Object.hasOwn(shape.keys, camel)) {
    const message = `${where} has no key ${quoted(key)}; its keys are written in camelCase`;
    tell.key('key.snake_case', way, message, `write ${camel}`);
    return camel;
  }
  const known = Object.keys(shape.keys);
  const meant = closest(key, known);
  const home = meant === undefined ? homeOf(key, root, '') : undefined;
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

/** The path of the section that has a key of this name. */
function homeOf(key: string, shape: Shape, path: string): string | undefined {
  if (shape.is === 'list') return homeOf(key, shape.item, `${path}[]`);
  if (shape.is === 'shorthand') return homeOf(key, shape.map, path);
  if (shape.is === 'record') return homeOf(key, shape.value, `${path}.${shape.keyName}`);
  if (shape.is === 'variants') {
    const found = Object.entries(shape.of).find(([, { keys }]) => Object.hasOwn(keys, key));
    return found && `${path} of ${shape.key} ${found[0]}`;
  }
  if (shape.is !== 'map') return undefined;
  if (path && Object.hasOwn(shape.keys, key)) return path;
  for (const [name, inner] of Object.entries(shape.keys)) {
    const found = homeOf(key, inner, path ? `${path}.${name}` : name);
    if (found) return found;
  }
  return undefined;
}

const camelCase = (key: string): string =>
  key.replaceAll(/[_-]+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase());
