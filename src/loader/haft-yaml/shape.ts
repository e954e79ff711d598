// Owns: the words in which the table of haft.yaml is written: what a value may be, and what it is for.
// Refuses: knowing any key of haft.yaml (haft-yaml-shape) and checking a value (check-shape).

/** The checks a text can ask for by name; each is a row of `TEXT_CHECKS`. */
export type TextCheck = 'name' | 'path-glob' | 'tool-glob' | 'pattern' | 'domain' | 'folder' | 'example';

export interface TextShape {
  readonly is: 'text';
  readonly doc: string;
  readonly check: TextCheck;
  readonly default?: string;
}

export interface ChoiceShape {
  readonly is: 'choice';
  readonly doc: string;
  readonly of: readonly string[];
  readonly default?: string;
}

export interface NumberShape {
  readonly is: 'number';
  readonly doc: string;
  readonly min: number;
  readonly max: number;
  readonly default?: string;
}

interface FlagShape {
  readonly is: 'flag';
  readonly doc: string;
  readonly default?: string;
}

/** Exactly this number. */
interface ConstantShape {
  readonly is: 'constant';
  readonly doc: string;
  readonly value: number;
  readonly default?: string;
}

export interface ListShape {
  readonly is: 'list';
  readonly doc: string;
  readonly item: Shape;
  readonly default?: string;
}

export interface MapShape {
  readonly is: 'map';
  readonly doc: string;
  readonly keys: { readonly [key: string]: Shape };
  readonly required?: readonly string[];
  /** At least one of these must be there, or the entry says nothing. */
  readonly someOf?: readonly string[];
  readonly default?: string;
}

/** A text that stands for the map with only `key` set. */
interface ShorthandShape {
  readonly is: 'shorthand';
  readonly doc: string;
  readonly text: TextShape;
  readonly map: MapShape | OpenShape;
  readonly default?: string;
}

/** A map whose keys somebody else checks. */
interface OpenShape {
  readonly is: 'open';
  readonly doc: string;
  readonly default?: string;
}

export type Shape =
  | TextShape
  | ChoiceShape
  | NumberShape
  | FlagShape
  | ConstantShape
  | ListShape
  | MapShape
  | ShorthandShape
  | OpenShape;

type ShapeKind = Shape['is'];
type ShapeOf<K extends ShapeKind> = Extract<Shape, { readonly is: K }>;

/** A table with one row for each kind of shape: how everything here works without a switch. */
export type ByShape<Args extends readonly unknown[], Result> = {
  readonly [K in ShapeKind]: (shape: ShapeOf<K>, ...args: Args) => Result;
};

/** Takes the row of this shape. */
export function applyShape<Args extends readonly unknown[], Result>(
  table: ByShape<Args, Result>,
  shape: Shape,
  ...args: Args
): Result {
  return (table[shape.is] as (shape: Shape, ...args: Args) => Result)(shape, ...args);
}
