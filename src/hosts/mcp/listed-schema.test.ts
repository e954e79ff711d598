// Owns: the proof that a schema means the same once it has no list as a type, and that a brief one asks for no more.
// Refuses: how tools look (list-tools.test.ts).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from '../../../test/support/properties.ts';
import type { JsonSchema } from '../../contract/json.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { BUILTIN_TOOLS } from '../../tools/index.ts';
import { briefSchema, listedSchema } from './listed-schema.ts';

const compiler = createSchemaCompiler();
const fits = async (schema: JsonSchema, value: unknown) =>
  (await (await compiler.compile(schema))(structuredClone(value))).length === 0;

const CASES: readonly (readonly [schema: JsonSchema, listed: JsonSchema])[] = [
  [{ type: 'string' }, { type: 'string' }],
  [{ type: ['string'] }, { type: 'string' }],
  [
    { type: ['string', 'null'], minLength: 2, description: 'x' },
    { minLength: 2, description: 'x', anyOf: [{ type: 'string' }, { type: 'null' }] },
  ],
  [
    { type: ['array', 'null'], items: { type: ['integer', 'null'] }, maxItems: 3 },
    {
      anyOf: [
        { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, maxItems: 3 },
        { type: 'null' },
      ],
    },
  ],
  // What a reference leads to stays where it is.
  [
    {
      properties: {
        a: { type: ['object', 'null'], properties: { b: { type: 'string' } } },
        c: { $ref: '#/properties/a/properties/b' },
      },
    },
    {
      properties: {
        a: { properties: { b: { type: 'string' } }, anyOf: [{ type: 'object' }, { type: 'null' }] },
        c: { $ref: '#/properties/a/properties/b' },
      },
    },
  ],
  // Data is not touched, and an `anyOf` that is there holds, too.
  [
    { type: ['string', 'number'], anyOf: [{ const: 'a' }, { const: 1 }], default: { type: ['x'] } },
    {
      anyOf: [{ const: 'a' }, { const: 1 }],
      default: { type: ['x'] },
      allOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }] }],
    },
  ],
  [{ properties: { type: { enum: [['a', 'b']] } } }, { properties: { type: { enum: [['a', 'b']] } } }],
];

describe('listedSchema', () => {
  for (const [schema, listed] of CASES)
    it(`lists ${JSON.stringify(schema)}`, () => assert.deepEqual(listedSchema(schema), listed));

  it('takes the same values as before', async () => {
    const type = fc.uniqueArray(fc.constantFrom('string', 'null', 'integer', 'array', 'object', 'boolean'), {
      minLength: 1,
    });
    const words = fc.record(
      {
        minLength: fc.nat(3),
        items: fc.constant({ type: ['integer', 'null'] }),
        properties: fc.constant({ a: { type: ['boolean', 'string'] } }),
        required: fc.constant(['a']),
        additionalProperties: fc.boolean(),
        enum: fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1 }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(type, words, fc.jsonValue({ maxDepth: 2 }), async (types, rest, value) => {
        const schema = { ...rest, type: types } as JsonSchema;
        assert.equal(await fits(listedSchema(schema), value), await fits(schema, value));
      }),
      { numRuns: 200 },
    );
  });
});

describe('briefSchema', () => {
  it('refuses none of the examples of the builtins', async () => {
    for (const { id, input, examples = [] } of BUILTIN_TOOLS)
      for (const { args } of examples) assert.ok(await fits(briefSchema(input), args), id);
  });

  it('keeps names, types, descriptions and what is required', () => {
    const { properties, required } = briefSchema(
      BUILTIN_TOOLS.find(({ id }) => id === 'shell_exec')!.input,
    ) as {
      properties: Record<string, { type: string; description: string }>;
      required: string[];
    };
    assert.deepEqual(required, ['cmd']);
    assert.deepEqual(properties.stdin, { type: 'string', description: properties.stdin!.description });
    for (const [name, { description }] of Object.entries(properties)) assert.ok(description, name);
  });
});
