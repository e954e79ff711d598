// Owns: which fields of two JSON values differ, as deep down as they differ.
// Refuses: to look into lists: what moved in one and what changed cannot be told apart.
import type { Json } from '../../contract/json.ts';
import type { FieldChange } from '../../contract/lock.ts';

/** In the order of names. */
export function valueChanges(before: Json | undefined, after: Json | undefined, field = ''): FieldChange[] {
  if (before === after) return [];
  if (isMap(before) && isMap(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => valueChanges(own(before, name), own(after, name), step(field, name)));
  }
  if (Array.isArray(before) && Array.isArray(after) && isSameList(before, after)) return [];
  return [{ field, before, after }];
}

type Map = { readonly [name: string]: Json };

const isMap = (value: Json | undefined): value is Map =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const own = (map: Map, name: string): Json | undefined => (Object.hasOwn(map, name) ? map[name] : undefined);

const isSameList = (a: readonly Json[], b: readonly Json[]): boolean =>
  a.length === b.length && a.every((one, at) => valueChanges(one, b[at]).length === 0);

/** `input.properties.path`; a name that is no word is quoted: `files["src/run.py"]`. */
function step(field: string, name: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `${field}[${JSON.stringify(name)}]`;
  return field === '' ? name : `${field}.${name}`;
}
