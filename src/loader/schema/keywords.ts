// Owns: the keywords of each dialect: what the value of each must be, and where there are schemas in it.
// Refuses: what a keyword does to an instance; the validator knows.
import { isRecord } from '../../base/is-record.ts';
import type { Dialect } from './dialect.ts';

/** How a keyword's value holds schemas; what holds none is data, whatever it looks like. */
export type Holds = 'one' | 'list' | 'map' | 'one-or-list' | 'map-or-names';

export interface Keyword {
  /** What its value must be, in words. */
  readonly is: string;
  /** Of a value that holds schemas: whether it is of the right form; the schemas are looked at on their own. */
  fits(value: unknown): boolean;
  readonly holds?: Holds;
  /** Its schemas look at the same instance, and not at a part of it. */
  readonly inPlace?: true;
  /** Its value is, or its keys are, regular expressions. */
  readonly pattern?: 'value' | 'keys';
}

/** Undefined for what is no keyword of this dialect: an annotation of the author's own. */
export function keywordOf(dialect: Dialect, name: string): Keyword | undefined {
  const own = OWN[dialect];
  if (Object.hasOwn(own, name)) return own[name];
  return Object.hasOwn(COMMON, name) ? COMMON[name] : undefined;
}

export const keywordNames = (dialect: Dialect): string[] => [
  ...Object.keys(COMMON),
  ...Object.keys(OWN[dialect]),
];

/** Calls `each` with every schema in a keyword's value and the steps to it, and answers with the value made of the results. */
export function mapSchemas(
  holds: Holds,
  value: unknown,
  each: (schema: unknown, step: string | number | undefined) => unknown,
): unknown {
  if (holds === 'one' || (holds === 'one-or-list' && !Array.isArray(value))) return each(value, undefined);
  if (Array.isArray(value)) return value.map((item, step) => each(item, step));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [
    key,
    holds === 'map-or-names' && Array.isArray(member) ? member : each(member, key),
  ]);
  return Object.fromEntries(entries);
}

/** The same without making anything. */
export function eachSchema(
  holds: Holds,
  value: unknown,
  visit: (schema: unknown, step: string | number | undefined) => void,
): void {
  if (holds === 'one' || (holds === 'one-or-list' && !Array.isArray(value))) visit(value, undefined);
  else if (Array.isArray(value)) {
    for (let step = 0; step < value.length; step++) visit(value[step], step);
  } else if (isRecord(value)) {
    for (const key of Object.keys(value)) {
      const member = value[key];
      if (holds !== 'map-or-names' || !Array.isArray(member)) visit(member, key);
    }
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
const TYPE_LIST = TYPES.join(', ');

const any: Keyword = { is: 'anything', fits: () => true };
const text: Keyword = { is: 'text', fits: isText };
const flag: Keyword = { is: 'true or false', fits: (value) => typeof value === 'boolean' };
const list: Keyword = { is: 'a list', fits: Array.isArray };
const number: Keyword = { is: 'a number', fits: isNumber };
const count: Keyword = {
  is: 'a whole number from 0',
  fits: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};
const names: Keyword = { is: 'a list of different texts', fits: isNames };
const namesMap: Keyword = {
  is: 'a map of lists of different texts',
  fits: (value) => isRecord(value) && Object.values(value).every(isNames),
};
const isSchema = (value: unknown): boolean => isRecord(value) || typeof value === 'boolean';
const one: Keyword = { is: 'a schema (a map, true or false)', fits: isSchema, holds: 'one' };
const oneInPlace: Keyword = { ...one, inPlace: true };
const schemas: Keyword = {
  is: 'a list of schemas, at least one',
  fits: (value) => Array.isArray(value) && value.length > 0,
  holds: 'list',
};
const schemasInPlace: Keyword = { ...schemas, inPlace: true };
const map: Keyword = { is: 'a map of schemas', fits: isRecord, holds: 'map' };
const pattern: Keyword = { is: 'a regular expression', fits: isText, pattern: 'value' };
const anchor: Keyword = {
  is: 'a name of letters, digits, -, . and _',
  fits: (value) => isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value),
};
const reference: Keyword = {
  is: 'a reference',
  fits: (value) => isText(value) && !/[\s<>"{}|\\^`]/.test(value),
};
const dependencies: Keyword = {
  is: 'a map of schemas or lists of different texts',
  fits: (value) =>
    isRecord(value) && Object.values(value).every((one) => !Array.isArray(one) || isNames(one)),
  holds: 'map-or-names',
  inPlace: true,
};

type Table = { readonly [name: string]: Keyword };

const COMMON: Table = {
  $schema: text,
  $ref: reference,
  $comment: text,
  definitions: map,
  title: text,
  description: text,
  default: any,
  readOnly: flag,
  writeOnly: flag,
  examples: list,
  type: {
    is: `one of ${TYPE_LIST}, or a list of different ones of them`,
    fits: (value) =>
      isText(value)
        ? TYPES.includes(value)
        : isNames(value) &&
          (value as string[]).length > 0 &&
          (value as string[]).every((one) => TYPES.includes(one)),
  },
  enum: list,
  const: any,
  multipleOf: { is: 'a number above 0', fits: (value) => isNumber(value) && value > 0 },
  maximum: number,
  exclusiveMaximum: number,
  minimum: number,
  exclusiveMinimum: number,
  maxLength: count,
  minLength: count,
  pattern,
  maxItems: count,
  minItems: count,
  uniqueItems: flag,
  maxProperties: count,
  minProperties: count,
  required: names,
  properties: map,
  patternProperties: { ...map, pattern: 'keys' },
  additionalProperties: one,
  propertyNames: one,
  contains: one,
  dependencies,
  allOf: schemasInPlace,
  anyOf: schemasInPlace,
  oneOf: schemasInPlace,
  not: oneInPlace,
  if: oneInPlace,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: oneInPlace,
  else: oneInPlace,
  format: text,
  contentEncoding: text,
  contentMediaType: text,
};

const OWN: { readonly [D in Dialect]: Table } = {
  '2020-12': {
    $id: { ...reference, fits: (value) => reference.fits(value) && /^[^#]*#?$/.test(value as string) },
    $anchor: anchor,
    $dynamicAnchor: anchor,
    $dynamicRef: reference,
    $vocabulary: {
      is: 'a map of true and false',
      fits: (value) => isRecord(value) && Object.values(value).every((one) => typeof one === 'boolean'),
    },
    $defs: map,
    prefixItems: schemas,
    items: one,
    minContains: count,
    maxContains: count,
    dependentRequired: namesMap,
    dependentSchemas: { ...map, inPlace: true },
    unevaluatedItems: one,
    unevaluatedProperties: one,
    contentSchema: one,
    deprecated: flag,
  },
  'draft-07': {
    $id: reference,
    items: {
      is: 'a schema, or a list of schemas, at least one',
      fits: (value) => (Array.isArray(value) ? value.length > 0 : isSchema(value)),
      holds: 'one-or-list',
    },
    additionalItems: one,
  },
};
