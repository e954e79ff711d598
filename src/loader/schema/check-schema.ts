// Owns: whether a schema is one (every keyword, every pattern), and making it whole in itself for a validator.
// Refuses: compiling it, which costs a hundred times as much and waits for the first call; where references lead is bundle-schema.ts.
import { closest } from '../../base/closest.ts';
import { isRecord } from '../../base/is-record.ts';
import { describeFound } from '../yaml/located.ts';
import type { Teller } from '../yaml/problem.ts';
import { type Way, wayText } from '../yaml/way.ts';
import { bundleSchema } from './bundle-schema.ts';
import { DIALECT_URIS, type Dialect, dialectOf } from './dialect.ts';
import { eachSchema, keywordNames, keywordOf } from './keywords.ts';
import { type DocumentSource, indexDocument, type Refusal, type SchemaDocument } from './schema-document.ts';

interface SchemaSite {
  readonly tell: Teller;
  readonly dialect: Dialect;
  /** What is wrong with a regular expression; the same ones come again and again, so that it pays to remember. */
  whyNotPattern(pattern: string): string | undefined;
}

/** Whether something in it refers to something, or can be referred to by a name: then it must be bundled. */
export function checkSchema(schema: unknown, way: Way | undefined, site: SchemaSite): boolean {
  if (typeof schema === 'boolean') return false;
  if (!isRecord(schema)) {
    const message = `${wayText(way)}: expected a schema (a map, true or false), found ${describeFound(schema)}`;
    site.tell.error('schema.type', way, message);
    return false;
  }
  let refers = false;
  for (const name of Object.keys(schema)) {
    const keyword = keywordOf(site.dialect, name);
    const at: Way = { up: way, step: name };
    if (!keyword) {
      misspelled(name, at, site);
      continue;
    }
    const value = schema[name];
    if (!keyword.fits(value)) {
      const message = `${wayText(at)}: expected ${keyword.is}, found ${found(value)}`;
      site.tell.error('schema.keyword', at, message, keywordHint(site.dialect, name, value));
      continue;
    }
    if (NAMING.has(name)) refers = true;
    if (name === '$schema') checkDialect(schema, at, site);
    else if (keyword.pattern)
      checkPatterns(keyword.pattern === 'value' ? [value as string] : Object.keys(value as object), at, site);
    if (keyword.holds) {
      eachSchema(keyword.holds, value, (inner, step) => {
        const below = checkSchema(inner, step === undefined ? at : { up: at, step }, site);
        refers ||= below;
      });
    }
  }
  return refers;
}

const NAMING = new Set(['$ref', '$dynamicRef', '$id', '$anchor', '$dynamicAnchor']);

const found = (value: unknown): string =>
  Array.isArray(value) && value.length === 0 ? 'an empty list' : describeFound(value);

function keywordHint(dialect: Dialect, name: string, value: unknown): string | undefined {
  if (name === 'type' && typeof value === 'string') {
    const meant = TYPE_WORDS[value.toLowerCase()] ?? closest(value, Object.values(TYPE_WORDS));
    return meant && `did you mean ${meant}?`;
  }
  if (name === 'items' && dialect === '2020-12' && Array.isArray(value)) return 'prefixItems takes a list';
  if (name === 'required' && typeof value === 'boolean')
    return 'the object around it lists the names of what it requires';
  if (name.startsWith('exclusive') && typeof value === 'boolean')
    return 'it is the bound itself since draft-06';
  return undefined;
}

const TYPE_WORDS: { readonly [word: string]: string } = {
  str: 'string',
  string: 'string',
  text: 'string',
  int: 'integer',
  integer: 'integer',
  float: 'number',
  double: 'number',
  number: 'number',
  bool: 'boolean',
  boolean: 'boolean',
  dict: 'object',
  map: 'object',
  object: 'object',
  list: 'array',
  array: 'array',
  none: 'null',
  null: 'null',
};

/** Keywords that are not known are annotations, and ignored: unless one is so near that it was meant. */
function misspelled(name: string, way: Way, { dialect, tell }: SchemaSite): void {
  if (name.length < 4 || name.startsWith('x-')) return;
  const meant = closest(name, keywordNames(dialect));
  if (!meant) return;
  const message = `${wayText(way)}: there is no keyword of this name, so it does nothing`;
  tell.warnKey('schema.misspelled', way, message, `did you mean ${meant}?`);
}

function checkDialect(schema: object, way: Way, { dialect, tell }: SchemaSite): void {
  if (dialectOf(schema) === dialect) return;
  const known = dialectOf(schema) !== undefined;
  const message = known
    ? `${wayText(way)}: one schema speaks one dialect, and this one began as ${dialect}`
    : `${wayText(way)}: this dialect is not known; there are 2020-12 and draft-07`;
  tell.error('schema.dialect', way, message, DIALECT_URIS[dialect]);
}

function checkPatterns(patterns: readonly string[], way: Way, site: SchemaSite): void {
  for (const pattern of patterns) {
    const fact = site.whyNotPattern(pattern);
    if (fact === undefined) continue;
    const hint = /Perl syntax: `\(\?[=!<]/.test(fact)
      ? 'look-around is not part of linear-time patterns; say it with not, allOf or a second pattern'
      : undefined;
    site.tell.error(
      'schema.pattern',
      way,
      `${wayText(way)}: ${JSON.stringify(pattern.slice(0, 80))}: ${fact}`,
      hint,
    );
  }
}

export interface WholeSite {
  /** What is wrong with a regular expression; the same ones come again and again, so that it pays to remember. */
  whyNotPattern(pattern: string): string | undefined;
  /** The document that `reference`, in `base`, leads to. */
  open(uri: string, reference: string, base: SchemaDocument): SchemaDocument | Refusal;
}

/** Undefined where something is wrong with it; that was told. A schema that refers to nothing stays as it is. */
export function wholeSchema(source: DocumentSource, site: WholeSite): unknown {
  const before = source.tell.errors;
  const checked = checkDocument(source, site);
  if (!checked) return undefined;
  if (!checked.refers) return source.root;
  const document = indexDocument({ ...source, dialect: checked.dialect });
  const check: BundleCheck = (root, way, { dialect, tell }) =>
    checkDocument({ root, way, dialect, tell }, site) !== undefined;
  const whole = bundleSchema(document, { open: site.open, check });
  return source.tell.errors > before ? undefined : whole;
}

type BundleCheck = Parameters<typeof bundleSchema>[1]['check'];

/** A document that somebody refers to. Undefined where something is wrong with it. */
export function openDocument(source: DocumentSource, site: WholeSite): SchemaDocument | undefined {
  const before = source.tell.errors;
  const checked = checkDocument(source, site);
  const document = checked && indexDocument({ ...source, dialect: checked.dialect });
  return source.tell.errors > before ? undefined : document;
}

function checkDocument(
  { root, way, tell, dialect: fallback }: Omit<DocumentSource, 'uri'>,
  { whyNotPattern }: WholeSite,
): { readonly dialect: Dialect; readonly refers: boolean } | undefined {
  const dialect = dialectOf(root, fallback) ?? fallback;
  const before = tell.errors;
  const refers = checkSchema(root, way, { tell, dialect, whyNotPattern });
  return tell.errors > before ? undefined : { dialect, refers };
}
