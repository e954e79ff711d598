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

export interface LocatedList {
  readonly is: 'list';
  readonly at: Place;
  readonly items: readonly Located[];
}

export interface LocatedScalar {
  readonly is: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
}

/** Something that haft.yaml cannot hold, in words: `a function`. */
export interface LocatedOther {
  readonly is: 'other';
  readonly at: Place;
  readonly found: string;
  /** Whether a diagnostic was made of it already. */
  readonly told: boolean;
}

const MAX_DEPTH = 64;
const START: Place = { line: 1, column: 1 };

/** A plain object as if it had been written; every place is the start. Keys without a value are left out. */
export function locateObject(value: unknown, depth = 0): Located {
  if (depth > MAX_DEPTH) return { is: 'other', at: START, found: 'something nested too deeply', told: false };
  if (isScalar(value)) return { is: 'scalar', at: START, value };
  if (Array.isArray(value)) {
    return { is: 'list', at: START, items: value.map((item) => locateObject(item, depth + 1)) };
  }
  if (!isPlain(value)) return { is: 'other', at: START, found: `a ${typeof value}`, told: false };
  const entries = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => ({ key, keyAt: START, value: locateObject(member, depth + 1) }));
  return { is: 'map', at: START, entries };
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
  other: () => null,
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
