// Owns: the canonical JSON of a definition, three times as fast as that of a value that nobody has looked at.
// Refuses: values that were not found to be JSON before.
import { canonicalText } from '../../base/canonical-json.ts';

/** RFC 8785, as `canonicalText` writes it. Throws as that does where a value nests too deeply. */
export function canonicalBody(definition: unknown): string {
  const sorted = sortKeys(definition, 0);
  return sorted === undefined ? canonicalText(definition) : JSON.stringify(sorted);
}

const MAX_DEPTH = 64;

/**
 * The value with the keys of every object in order. Undefined where an object could not hold them so: keys that look
 * like an index come first, whatever is done, and `__proto__` is no ordinary key.
 */
function sortKeys(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return undefined;
  if (Array.isArray(value)) {
    const list = new Array(value.length);
    for (let at = 0; at < value.length; at++) {
      list[at] = sortKeys(value[at], depth + 1);
      if (list[at] === undefined) return undefined;
    }
    return list;
  }
  const keys = inOrder(Object.keys(value));
  const sorted: { [key: string]: unknown } = {};
  for (const key of keys) {
    const first = key.charCodeAt(0);
    if ((first >= 48 && first <= 57) || key === '__proto__') return undefined;
    const inner = sortKeys((value as { [key: string]: unknown })[key], depth + 1);
    if (inner === undefined) return undefined;
    sorted[key] = inner;
  }
  return sorted;
}

/** By UTF-16 code units. Of a few keys, most of them in order, by inserting. */
function inOrder(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}
