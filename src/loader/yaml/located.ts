// Owns: values that know where they were written, from YAML or from a plain object.
// Refuses: judging them; that is check-shape.
import { quoted } from '../../contract/diagnostic.ts';
import { type Way, waySteps, wayText } from './way.ts';

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

/** Something that is no JSON, in words: `a function`. */
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
export const START: Place = { line: 1, column: 1 };

/** A plain object as if it had been written; every place is the start. Keys without a value are left out. */
export function locateObject(value: unknown): Located {
  let values = 0;
  const locate = (one: unknown, depth: number): Located => {
    // What refers to itself never ends, and several times at that.
    if (depth > MAX_DEPTH || ++values > MAX_VALUES)
      return { is: 'other', at: START, found: 'something too deep or too large', told: false };
    if (isScalar(one)) return { is: 'scalar', at: START, value: one };
    if (Array.isArray(one))
      return { is: 'list', at: START, items: one.map((item) => locate(item, depth + 1)) };
    if (!isPlain(one)) return { is: 'other', at: START, found: `a ${typeof one}`, told: false };
    const entries = Object.entries(one)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => ({ key, keyAt: START, value: locate(member, depth + 1) }));
    return { is: 'map', at: START, entries };
  };
  return locate(value, 0);
}

/** The value without its places. What is no JSON becomes an `Unreadable`. */
export function toPlain(node: Located): unknown {
  return (PLAIN[node.is] as (node: Located) => unknown)(node);
}

const PLAIN: { readonly [K in Located['is']]: (node: Extract<Located, { is: K }>) => unknown } = {
  // Defined, not assigned: a key named __proto__ is a key like any other.
  map: ({ entries }) => Object.fromEntries(entries.map(({ key, value }) => [key, toPlain(value)])),
  list: ({ items }) => items.map(toPlain),
  scalar: ({ value }) => value,
  other: ({ found, told }): Unreadable => ({ [UNREADABLE]: found, told }),
};

const UNREADABLE = Symbol.for('haft.unreadable');

/** Stands for what is no JSON. Has no canonical form, so that whoever takes it for a value refuses it. */
export interface Unreadable {
  readonly [UNREADABLE]: string;
  readonly told: boolean;
}

export const isUnreadable = (value: unknown): value is Unreadable =>
  typeof value === 'object' && value !== null && UNREADABLE in value;

/** For a message: `text "yes"`, `a list`, `nothing`. */
export function describeFound(value: unknown): string {
  if (value === null) return 'nothing';
  if (typeof value === 'string') return `text ${quoted(value)}`;
  if (Array.isArray(value)) return 'a list';
  if (isUnreadable(value)) return value[UNREADABLE];
  return typeof value === 'object' ? 'a map' : `${typeof value} ${value}`;
}

/** Where the value at the end of the way is, or its key; of what is not there, the nearest thing around it. */
export function placeOf(root: Located, way: Way | undefined, of: 'key' | 'value'): Place {
  let node: Located = root;
  let place = root.at;
  for (const step of waySteps(way)) {
    if (node.is === 'list' && typeof step === 'number') {
      const item = node.items[step];
      if (!item) return place;
      node = item;
      place = item.at;
    } else if (node.is === 'map') {
      const entry = node.entries.find(({ key }) => key === String(step));
      if (!entry) return place;
      node = entry.value;
      place = of === 'key' ? entry.keyAt : entry.value.at;
    } else return place;
  }
  return place;
}

/** Every key and entry by its path: of a single value its own place, of a section that of its key. */
export function placesOf(root: Located): Map<string, Place> {
  const places = new Map<string, Place>();
  const visit = (node: Located, way: Way | undefined): void => {
    if (node.is === 'list') {
      for (const [step, item] of node.items.entries()) {
        const inner: Way = { up: way, step };
        places.set(wayText(inner), item.at);
        visit(item, inner);
      }
    } else if (node.is === 'map') {
      for (const { key, keyAt, value } of node.entries) {
        const inner: Way = { up: way, step: key };
        places.set(wayText(inner), value.is === 'scalar' ? value.at : keyAt);
        visit(value, inner);
      }
    }
  };
  visit(root, undefined);
  return places;
}

const isScalar = (value: unknown): value is string | number | boolean | null =>
  value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const isPlain = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};
