// Owns: values as Python has them: what is true, equal, less, how long it is, and how it is written.
// Refuses: anything that JSON or a template could not have made; nothing of JavaScript's own objects can be reached.

/**
 * JSON values, `undefined` for what is not there, and beside them: floats that are whole (`2.0`), tuples, dicts made by a
 * template (a Map), namespaces, and functions of this folder.
 */
export type Value = unknown;

const FLOAT = Symbol.for('haft.float');
const TUPLE = Symbol.for('haft.tuple');
const NAMESPACE = Symbol.for('haft.namespace');

interface WholeFloat {
  readonly [FLOAT]: number;
}

/** A number that Python would call a float, also where it is whole. */
export const floatOf = (value: number): Value =>
  Number.isInteger(value) ? Object.freeze({ [FLOAT]: value }) : value;

export const tupleOf = (items: readonly Value[]): readonly Value[] =>
  Object.freeze(Object.assign([...items], { [TUPLE]: true }));

/** A tuple whose items have names too. */
export const namedTupleOf = (fields: Readonly<Record<string, Value>>): readonly Value[] =>
  Object.freeze(
    Object.assign([...Object.values(fields)], {
      [TUPLE]: true,
      [NAMESPACE]: new Map(Object.entries(fields)),
    }),
  );

export interface Namespace {
  readonly [NAMESPACE]: Map<string, Value>;
}

export const namespaceOf = (fields: Map<string, Value>): Namespace => ({ [NAMESPACE]: fields });

export const fieldsOf = (value: Value): Map<string, Value> | undefined =>
  typeof value === 'object' && value !== null
    ? (value as unknown as Partial<Namespace>)[NAMESPACE]
    : undefined;

const isRecord = (value: Value): value is Readonly<Record<string | symbol, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Map);

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);
export const isTuple = (value: Value): boolean => Array.isArray(value) && TUPLE in value;
export const isDict = (value: Value): boolean =>
  value instanceof Map || (isRecord(value) && !(FLOAT in value) && !(NAMESPACE in value));

/** A number, and whether it is a float. Truth values count as 1 and 0. */
export function numberOf(value: Value): { readonly n: number; readonly float: boolean } | undefined {
  if (typeof value === 'number') return { n: value, float: !Number.isInteger(value) };
  if (typeof value === 'boolean') return { n: value ? 1 : 0, float: false };
  if (isRecord(value) && FLOAT in value) return { n: (value as unknown as WholeFloat)[FLOAT], float: true };
  return undefined;
}

export function entriesOf(dict: Value): readonly (readonly [Value, Value])[] {
  return dict instanceof Map ? [...dict] : Object.entries(dict as object);
}

/** Undefined where the key is not there; only a dict's own keys are. */
export function lookUp(dict: Value, key: Value): Value {
  if (dict instanceof Map) return dict.get(keyOf(key));
  return typeof key === 'string' && Object.hasOwn(dict as object, key)
    ? (dict as Record<string, unknown>)[key]
    : undefined;
}

export const hasKey = (dict: Value, key: Value): boolean =>
  dict instanceof Map ? dict.has(keyOf(key)) : typeof key === 'string' && Object.hasOwn(dict as object, key);

/** Numbers that are equal are one key. */
export const keyOf = (key: Value): Value => numberOf(key)?.n ?? key;

export function isTrue(value: Value): boolean {
  if (typeof value === 'string') return value !== '';
  if (isList(value)) return value.length > 0;
  const number = numberOf(value);
  if (number) return number.n !== 0;
  if (isDict(value)) return entriesOf(value).length > 0;
  return value !== undefined && value !== null;
}

export function equals(a: Value, b: Value): boolean {
  const [one, other] = [numberOf(a), numberOf(b)];
  if (one || other) return one?.n === other?.n;
  if (isList(a) && isList(b))
    return isTuple(a) === isTuple(b) && a.length === b.length && a.every((item, i) => equals(item, b[i]));
  if (isDict(a) && isDict(b)) {
    const entries = entriesOf(a);
    return (
      entries.length === entriesOf(b).length &&
      entries.every(([key, value]) => hasKey(b, key) && equals(value, lookUp(b, key)))
    );
  }
  return a === b;
}

/** Below, at or above zero; undefined where Python would refuse. */
export function compare(a: Value, b: Value): number | undefined {
  const [one, other] = [numberOf(a), numberOf(b)];
  if (one && other) return one.n - other.n;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  if (isList(a) && isList(b) && isTuple(a) === isTuple(b)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++)
      if (!equals(a[i], b[i])) return compare(a[i], b[i]);
    return a.length - b.length;
  }
  return undefined;
}

export function lengthOf(value: Value): number | undefined {
  if (typeof value === 'string') return countOf(value);
  if (isList(value)) return value.length;
  if (isDict(value)) return entriesOf(value).length;
  return value === undefined ? 0 : undefined;
}

/** Code points, not halves of them. */
const countOf = (text: string): number => (/[\ud800-\udfff]/.test(text) ? [...text].length : text.length);

/** Undefined where it cannot be gone through. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (isList(value)) return value;
  if (typeof value === 'string') return [...value];
  if (isDict(value)) return entriesOf(value).map(([key]) => key);
  return value === undefined ? [] : undefined;
}

// ------------------------------------------------------------------------------------------ as text

/** `str(value)`. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : repr(value);
}

/** `repr(value)`. */
export function repr(value: Value): string {
  if (value === null) return 'None';
  if (value === undefined) return 'Undefined';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return reprText(value);
  const number = numberOf(value);
  if (number) return number.float ? reprFloat(number.n) : String(number.n);
  if (isList(value)) {
    const items = value.map(repr).join(', ');
    if (!isTuple(value)) return `[${items}]`;
    return value.length === 1 ? `(${items},)` : `(${items})`;
  }
  if (isDict(value))
    return `{${entriesOf(value)
      .map(([key, one]) => `${repr(key)}: ${repr(one)}`)
      .join(', ')}}`;
  return typeof value === 'function' ? '<function>' : '<Namespace>';
}

function reprFloat(n: number): string {
  if (Number.isNaN(n)) return 'nan';
  if (!Number.isFinite(n)) return n > 0 ? 'inf' : '-inf';
  if (n === 0) return Object.is(n, -0) ? '-0.0' : '0.0';
  const exponent = Math.floor(Math.log10(Math.abs(n)));
  if (exponent >= -4 && exponent < 16) {
    const plain = String(n);
    return /[.e]/.test(plain) ? plain : `${plain}.0`;
  }
  // Python writes at least two digits of an exponent.
  return n.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\' };

function reprText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = '';
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    if (char === quote) out += `\\${char}`;
    else if (SHORT[char] !== undefined) out += SHORT[char];
    else if (code < 0x20 || (code >= 0x7f && code < 0xa1)) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else out += char;
  }
  return `${quote}${out}${quote}`;
}

/** About the characters of `textOf`, without writing it; counting stops above `enough`. */
export function sizeOf(value: Value, enough: number): number {
  if (typeof value === 'string') return value.length;
  let size = 8;
  const parts = isList(value) ? value : isDict(value) ? entriesOf(value).flat() : [];
  for (const part of parts) {
    size += 2 + sizeOf(part, enough - size);
    if (size > enough) break;
  }
  return size;
}
