// Owns: what a schema may hold, keyword by keyword, and that the table agrees with the official metaschema.
// Refuses: references; bundle-schema.test.ts has those.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from '../../../test/support/properties.ts';
import { createTeller, type Problem } from '../yaml/problem.ts';
import { wayText } from '../yaml/way.ts';
import { checkSchema } from './check-schema.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import { keywordNames } from './keywords.ts';
import { whyNotLinear } from './linear-reg-exp.ts';

function check(schema: unknown, dialect: Dialect = dialectOf(schema) ?? '2020-12'): Problem[] {
  const problems: Problem[] = [];
  const tell = createTeller((problem) => problems.push(problem));
  checkSchema(schema, undefined, { tell, dialect, whyNotPattern: whyNotLinear });
  return problems;
}

const D7 = 'http://json-schema.org/draft-07/schema#';

const BAD: readonly (readonly [schema: unknown, code: string, at: string, hint?: string])[] = [
  [{ type: 'strin' }, 'schema.keyword', 'type', 'string'],
  [{ type: 'str' }, 'schema.keyword', 'type', 'string'],
  [{ type: 'dict' }, 'schema.keyword', 'type', 'object'],
  [{ type: [] }, 'schema.keyword', 'type'],
  [{ type: ['string', 'string'] }, 'schema.keyword', 'type'],
  [{ type: null }, 'schema.keyword', 'type'],
  [{ properties: { a: 1 } }, 'schema.type', 'properties.a'],
  [{ properties: [] }, 'schema.keyword', 'properties'],
  [{ properties: { a: { required: true } } }, 'schema.keyword', 'properties.a.required', 'lists the names'],
  [{ required: ['a', 'a'] }, 'schema.keyword', 'required'],
  [{ items: [{}] }, 'schema.keyword', 'items', 'prefixItems'],
  [{ allOf: [] }, 'schema.keyword', 'allOf'],
  [{ anyOf: [{}, 7] }, 'schema.type', 'anyOf[1]'],
  [{ minLength: -1 }, 'schema.keyword', 'minLength'],
  [{ maxItems: 1.5 }, 'schema.keyword', 'maxItems'],
  [{ multipleOf: 0 }, 'schema.keyword', 'multipleOf'],
  [{ exclusiveMinimum: true }, 'schema.keyword', 'exclusiveMinimum', 'bound itself'],
  [{ pattern: '(' }, 'schema.pattern', 'pattern'],
  [{ pattern: '(?=a)' }, 'schema.pattern', 'pattern', 'look-around'],
  [{ patternProperties: { '[': true } }, 'schema.pattern', 'patternProperties'],
  [{ $schema: 'http://json-schema.org/draft-04/schema#' }, 'schema.dialect', '$schema', '2020-12'],
  [{ $schema: 7 }, 'schema.keyword', '$schema'],
  [{ not: { $schema: D7 } }, 'schema.dialect', 'not.$schema'],
  [{ $anchor: 'a b' }, 'schema.keyword', '$anchor'],
  [{ $ref: 7 }, 'schema.keyword', '$ref'],
  [{ propertees: {} }, 'schema.misspelled', 'propertees', 'properties'],
  [[], 'schema.type', ''],
];

const GOOD: readonly unknown[] = [
  true,
  {},
  {
    type: ['string', 'null'],
    const: { type: 'strin' },
    enum: [{ type: 1 }],
    default: { $ref: 7 },
    examples: [{ type: 1 }],
  },
  { 'x-anything': { type: 1 }, unit: 'm', widget: { properties: 1 } },
  { $schema: D7, items: [{}, true], additionalItems: false, dependencies: { a: ['b'], c: {} } },
  { prefixItems: [true], unevaluatedItems: false, dependentRequired: { a: ['b'] }, $defs: { a: true } },
  { pattern: '^\\p{Letter}+$' },
];

describe('checkSchema', () => {
  for (const [schema, code, at, hint] of BAD) {
    it(`tells ${code} of ${JSON.stringify(schema)}`, () => {
      const problems = check(schema);
      assert.deepEqual(
        problems.map((problem) => [problem.code, wayText(problem.way)]),
        [[code, at]],
      );
      if (hint) assert.ok(problems[0]?.hint?.includes(hint), problems[0]?.hint);
    });
  }
  for (const schema of GOOD) it(`takes ${JSON.stringify(schema)}`, () => assert.deepEqual(check(schema), []));

  it('tells everything that is wrong at once', () => {
    assert.equal(check({ type: 'x', items: { type: 'y' }, minLength: 'z' }).length, 3);
  });

  for (const [dialect, ajv] of [
    ['2020-12', new Ajv2020({ strict: false, logger: false, validateFormats: false })],
    ['draft-07', new Ajv({ strict: false, logger: false, validateFormats: false })],
  ] as const) {
    it(`agrees with the metaschema of ${dialect} about any schema`, () => {
      fc.assert(
        fc.property(schemaOf(dialect), (schema) => {
          const errors = check(schema, dialect).filter(({ severity }) => severity === 'error');
          assert.equal(errors.length === 0, ajv.validateSchema(schema as object), JSON.stringify(schema));
        }),
        { numRuns: 2000 },
      );
    });
  }
});

/** References need something to refer to, and Ajv's copy of the old metaschema differs from the official one in two words. */
const LEFT_OUT = new Set([
  '$schema',
  '$ref',
  '$dynamicRef',
  '$id',
  '$vocabulary',
  'enum',
  'writeOnly',
  'pattern',
  'patternProperties',
]);

function schemaOf(dialect: Dialect): fc.Arbitrary<unknown> {
  const keyword = fc.constantFrom(...keywordNames(dialect).filter((name) => !LEFT_OUT.has(name)));
  const leaf = fc.constantFrom(null, true, false, 0, 1, -1, 1.5, '', 'a', 'string', 'integer', 'b c');
  const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
    schema: fc.oneof({ maxDepth: 3 }, fc.dictionary(keyword, tie('value'), { maxKeys: 3 }), fc.boolean()),
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      tie('schema'),
      fc.array(fc.oneof(leaf, tie('schema')), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom('a', 'b', 'c'),
        fc.oneof(leaf, tie('schema'), fc.array(leaf, { maxLength: 2 })),
        { maxKeys: 2 },
      ),
    ),
  }));
  return fc
    .dictionary(keyword, schema, { maxKeys: 1 })
    .chain((first) => schema.map((second) => (typeof second === 'object' ? { ...first, ...second } : first)));
}
