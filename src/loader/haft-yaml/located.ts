// Owns: values that know where they were written, from YAML or from a plain object.
// Refuses: judging them; that is check-shape.

/** Lines and columns count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Located = LocatedMap | LocatedList | LocatedScalar | LocatedOther;

export interface LocatedMap {
  readonly is: 'map';
  readonly at: Place;
  readonly entries: readonly LocatedEntry[];
}

export interface LocatedEntry {
  readonly key: string;
  readonly keyAt: Place;
  readonly value: Located;
}

interface LocatedList {
  readonly is: 'list';
  readonly at: Place;
  readonly items: readonly Located[];
}

interface LocatedScalar {
  readonly is: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
}

/** Something that haft.yaml cannot hold, in words: `a function`. */
interface LocatedOther {
  readonly is: 'other';
  readonly at: Place;
  readonly found: string;
  /** Whether a diagnostic was made of it already. */
  readonly told: boolean;
}

/** How deep values may nest, and how many there may be; aliases count as often as they are used. */
export const MAX_DEPTH = 64;
export const MAX_VALUES = 50_000;
const START: Place = { line: 1, column: 1 };

/** A plain object as if it had been written; every place is the start. Keys without a value are left out. */
export function locateObject(value: unknown): Located {
  let values = 0;
  const locate = (one: unknown, depth: number): Located => {
    // What refers to itself never ends, and several times at that.
    if (depth > MAX_DEPTH || ++values > MAX_VALUES) {
      return { is: 'other', at: START, found: 'something too deep or too large', told: false };
    }
    if (isScalar(one)) return { is: 'scalar', at: START, value: one };
    if (Array.isArray(one)) {
      return { is: 'list', at: START, items: one.map((item) => locate(item, depth + 1)) };
    }
    if (!isPlain(one)) return { is: 'other', at: START, found: `a ${typeof one}`, told: false };
    const entries = Object.entries(one)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => ({ key, keyAt: START, value: locate(member, depth + 1) }));
    return { is: 'map', at: START, entries };
  };
  return locate(value, 0);
}

/** The value without its places. */
export function toPlain(node: Located): unknown {
  return (PLAIN[node.is] as (node: Located) => unknown)(node);
}

/** For a message: `text "yes"`, `a list`, `nothing`. */
export function describeFound(node: Located): string {
  return (FOUND[node.is] as (node: Located) => string)(node);
}

const PLAIN: { readonly [K in Located['is']]: (node: Extract<Located, { is: K }>) => unknown } = {
  // Defined, not assigned: a key named __proto__ is a key like any other.
  map: ({ entries }) => Object.fromEntries(entries.map(({ key, value }) => [key, toPlain(value)])),
  list: ({ items }) => items.map(toPlain),
  scalar: ({ value }) => value,
  // Has no canonical form, so that whoever takes the value refuses it.
  other: () => undefined,
};

const FOUND: { readonly [K in Located['is']]: (node: Extract<Located, { is: K }>) => string } = {
  map: () => 'a map',
  list: () => 'a list',
  scalar: ({ value }) => {
    if (value === null) return 'nothing';
    return typeof value === 'string' ? `text ${quoted(value)}` : `${typeof value} ${value}`;
  },
  other: ({ found }) => found,
};

/** At most 60 characters of it, on one line. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 59).toWellFormed()}…` : text.toWellFormed());

const isScalar = (value: unknown): value is string | number | boolean | null =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const isPlain = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};
