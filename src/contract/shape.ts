// Owns: the words in which the table of a file is written: what a value may be, and what it is for.
// Refuses: knowing any key of any file, and checking a value (check-shape).

interface AnyShape {
  readonly doc: string;
  /** In words, for the reference page. */
  readonly default?: string;
  /** The diagnostic's code where the value is not of this shape; by default one that says what is wrong with it. */
  readonly code?: string;
}

export interface TextShape extends AnyShape {
  readonly is: 'text';
  /** A row of the file's text checks. */
  readonly check: string;
  /** For editors: what the text looks like, where a pattern can say it. */
  readonly pattern?: string;
  /** What to type, where one cannot guess it from what was found. */
  readonly example?: string;
  /** It may also be empty. */
  readonly empty?: true;
}

export interface ChoiceShape extends AnyShape {
  readonly is: 'choice';
  readonly of: readonly string[];
}

export interface NumberShape extends AnyShape {
  readonly is: 'number';
  readonly min: number;
  readonly max: number;
  /** Not only whole ones. */
  readonly fraction?: true;
}

export interface FlagShape extends AnyShape {
  readonly is: 'flag';
}

/** Exactly this number. */
interface ConstantShape extends AnyShape {
  readonly is: 'constant';
  readonly value: number;
}

export interface ListShape extends AnyShape {
  readonly is: 'list';
  readonly item: Shape;
  /** At least so many. */
  readonly least?: number;
  /** Its entries are the words of a command: one text in its place was meant as all of them. */
  readonly words?: true;
}

export interface MapShape extends AnyShape {
  readonly is: 'map';
  readonly keys: { readonly [key: string]: Shape };
  readonly required?: readonly string[];
  /** At least one of these must be there, or the entry says nothing. */
  readonly someOf?: readonly string[];
}

/** A map whose keys are names of the author's choice. */
export interface RecordShape extends AnyShape {
  readonly is: 'record';
  /** A row of the file's text checks, for every key. */
  readonly key: string;
  readonly keyPattern?: string;
  /** What stands for a key on the reference page. */
  readonly keyName: string;
  readonly value: Shape;
}

/** A map whose keys depend on one of them. */
export interface VariantsShape extends AnyShape {
  readonly is: 'variants';
  readonly by: ChoiceShape;
  readonly key: string;
  readonly of: { readonly [choice: string]: MapShape };
}

/** A text that stands for the map with only `key` set. */
interface ShorthandShape extends AnyShape {
  readonly is: 'shorthand';
  readonly text: TextShape;
  readonly map: MapShape | OpenShape;
}

/** A map of JSON whose keys somebody else checks. */
export interface OpenShape extends AnyShape {
  readonly is: 'open';
}

/** Any JSON. */
export interface JsonShape extends AnyShape {
  readonly is: 'json';
}

/** A JSON Schema. */
export interface SchemaShape extends AnyShape {
  readonly is: 'schema';
}

export type Shape =
  | TextShape
  | ChoiceShape
  | NumberShape
  | FlagShape
  | ConstantShape
  | ListShape
  | MapShape
  | RecordShape
  | VariantsShape
  | ShorthandShape
  | OpenShape
  | JsonShape
  | SchemaShape;

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

/** What is wrong with a text of a file. */
export interface TextProblem {
  readonly code: string;
  /** Follows the text in the message: `it is not the name of a host`. */
  readonly fact: string;
  readonly hint?: string;
  readonly severity?: 'warning';
}
