// Owns: that references of every kind become a part of the schema, and that each that leads nowhere is told at its place.
// Refuses: the official suite's own cases; json-schema-suite.test.ts has those.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import type { JsonSchema } from '../../contract/json.ts';
import { createTeller, type Problem } from '../yaml/problem.ts';
import { wayText } from '../yaml/way.ts';
import { openDocument, type WholeSite, wholeSchema } from './check-schema.ts';
import { createAjvCompiler } from './compile.ts';

const ROOT = 'pack:/';

interface Bundled {
  readonly whole: unknown;
  readonly told: readonly string[];
}

/** `files` are the documents beside the schema, by name. */
function bundle(root: unknown, files: { readonly [name: string]: unknown } = {}): Bundled {
  const told: string[] = [];
  const tellOf = (file: string) =>
    createTeller(({ code, way }: Problem) => told.push(`${file} ${wayText(way)} ${code}`));
  const site: WholeSite = {
    whyNotPattern: () => undefined,
    open(uri, _reference, { dialect }) {
      const name = uri.slice(ROOT.length);
      if (!uri.startsWith(ROOT)) return { code: 'ref.remote', fact: 'is remote' };
      if (!Object.hasOwn(files, name)) return { code: 'ref.missing', fact: 'is not there' };
      const document = openDocument({ uri, root: files[name], dialect, tell: tellOf(name) }, site);
      return document ?? { code: 'ref.broken', fact: 'has problems' };
    },
  };
  const whole = wholeSchema(
    { uri: `${ROOT}main.json`, root, dialect: '2020-12', tell: tellOf('main') },
    site,
  );
  return { whole, told };
}

const compile = createAjvCompiler();
const fits = async (schema: unknown, value: unknown) =>
  (await compile(schema as JsonSchema)(value)).length === 0;
const D7 = 'http://json-schema.org/draft-07/schema#';

describe('bundling', () => {
  it('leaves a schema without references as it is', () => {
    const schema = { type: 'object', properties: { a: { const: { $ref: 'nowhere' } } } };
    assert.equal(bundle(schema).whole, schema);
  });

  it('makes a root that is only a reference what it refers to', () => {
    const file = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' };
    assert.deepEqual(
      bundle({ $ref: 'a.json' }, { 'a.json': { $ref: 'b.json' }, 'b.json': file }).whole,
      file,
    );
  });

  it('bundles what is referred to, once each, also along chains and relative to the file that refers', () => {
    const files = {
      'parts/a.json': { properties: { next: { $ref: 'b.json' }, again: { $ref: './b.json#' } } },
      'parts/b.json': { $ref: '../c.json#/$defs/text' },
      'c.json': { $defs: { text: { type: 'string' }, unused: { type: 'null' } } },
    };
    assert.deepEqual(bundle({ type: 'object', properties: { a: { $ref: 'parts/a.json' } } }, files), {
      told: [],
      whole: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: {
          a: { properties: { next: { $ref: '#/$defs/b' }, again: { $ref: '#/$defs/b' } } },
          b: { $ref: '#/$defs/text' },
          text: { type: 'string' },
        },
      },
    });
  });

  it('keeps recursion, in a file and between files', async () => {
    const tree = bundle(
      { $ref: 'tree.json' },
      {
        'tree.json': {
          type: 'object',
          properties: { branches: { type: 'array', items: { $ref: '#' } } },
          required: ['leaf'],
          additionalProperties: { $ref: 'leaf.json' },
        },
        'leaf.json': {
          anyOf: [{ type: 'string' }, { type: 'object', properties: { tree: { $ref: 'tree.json' } } }],
        },
      },
    );
    assert.deepEqual(tree.told, []);
    const leaf = { leaf: 'x' };
    assert.ok(await fits(tree.whole, { ...leaf, branches: [leaf, { ...leaf, branches: [leaf] }] }));
    assert.ok(!(await fits(tree.whole, { ...leaf, branches: [leaf, { branches: [] }] })));
    assert.ok(!(await fits(tree.whole, { ...leaf, other: { tree: {} } })));
  });

  it('takes siblings of a reference into account in 2020-12, and ignores them in draft-07', async () => {
    const parts = {
      $defs: { text: { type: 'string' } },
      properties: { a: { $ref: '#/$defs/text', maxLength: 1, description: 'd' } },
    };
    assert.ok(!(await fits(bundle(parts).whole, { a: 'xx' })));
    const old = bundle({ $schema: D7, ...parts });
    assert.ok(await fits(old.whole, { a: 'xx' }));
    assert.ok(!(await fits(old.whole, { a: 1 })));
    assert.deepEqual((old.whole as { properties: unknown }).properties, {
      a: { $ref: '#/$defs/text', description: 'd' },
    });
  });

  it('leaves what is data alone', () => {
    const data = { $ref: '#/nowhere' };
    const schema = {
      $ref: '#/$defs/x',
      const: data,
      enum: [data],
      default: data,
      examples: [data],
      'x-own': data,
      $defs: { x: true },
    };
    const { whole, told } = bundle(schema);
    assert.deepEqual(told, []);
    assert.deepEqual(whole, { ...schema, $defs: { x: true } });
  });

  it('finds schemas by $id and by anchor, and files beside one that has an $id', () => {
    const schema = {
      $id: 'https://example.org/schemas/main.json',
      properties: {
        a: { $ref: 'inner.json' },
        b: { $ref: '#here' },
        c: { $ref: 'beside.json' },
        d: { $ref: 'https://example.org/schemas/inner.json#/items' },
      },
      $defs: { x: { $id: 'inner.json', items: { type: 'number' } }, y: { $anchor: 'here', type: 'null' } },
    };
    const { whole, told } = bundle(schema, { 'beside.json': { type: 'boolean' } });
    assert.deepEqual(told, []);
    assert.deepEqual((whole as { $defs: unknown }).$defs, {
      inner: { items: { type: 'number' } },
      here: { type: 'null' },
      beside: { type: 'boolean' },
      items: { type: 'number' },
    });
  });

  it('speaks the dialect of what it stands for, and does not mix two', () => {
    assert.deepEqual(
      bundle(
        { $ref: 'old.json' },
        { 'old.json': { $schema: D7, items: [{ $ref: '#/definitions/a' }], definitions: { a: {} } } },
      ).whole,
      {
        $schema: D7,
        items: [{ $ref: '#/$defs/a' }],
        $defs: { a: {} },
      },
    );
    assert.deepEqual(
      bundle({ properties: { a: { $ref: 'old.json' } } }, { 'old.json': { $schema: D7 } }).told,
      ['main properties.a.$ref ref.dialect'],
    );
  });

  const BAD: {
    readonly [why: string]: readonly [
      schema: unknown,
      told: readonly string[],
      files?: { readonly [name: string]: unknown },
    ];
  } = {
    'a pointer that leads nowhere': [{ items: { $ref: '#/$defs/nope' } }, ['main items.$ref ref.pointer']],
    'a pointer into a list that is shorter': [
      { allOf: [{ $ref: '#/allOf/7' }] },
      ['main allOf[0].$ref ref.pointer'],
    ],
    'a pointer that ends at what is no schema': [
      { title: 't', items: { $ref: '#/title' } },
      ['main items.$ref ref.not_schema'],
    ],
    'a pointer to an odd place that holds no schema': [
      { 'x-own': { a: { type: 'strin' } }, items: { $ref: '#/x-own/a' } },
      ['main x-own.a.type schema.keyword', 'main items.$ref ref.not_schema'],
    ],
    'an anchor that is not there': [{ items: { $ref: '#nope' } }, ['main items.$ref ref.anchor']],
    'a file that is not there': [{ items: { $ref: 'nope.json' } }, ['main items.$ref ref.missing']],
    'another place': [{ items: { $ref: 'https://example.org/x.json' } }, ['main items.$ref ref.remote']],
    'what is no reference': [{ items: { $ref: 'http://[' } }, ['main items.$ref ref.invalid']],
    'a root that is only itself': [{ $ref: '#' }, ['main $ref ref.endless']],
    'two that are only each other': [
      { $ref: 'a.json' },
      ['a.json $ref ref.endless'],
      { 'a.json': { $ref: 'b.json' }, 'b.json': { $ref: 'a.json' } },
    ],
    'a schema that applies itself to the same value': [
      { anyOf: [{ type: 'string' }, { $ref: '#' }] },
      ['main  ref.endless'],
    ],
    'a file with a problem of its own': [
      { items: { $ref: 'a.json' } },
      ['a.json type schema.keyword', 'main items.$ref ref.broken'],
      { 'a.json': { type: 'strin' } },
    ],
    'a bad reference in another file, told there': [
      { items: { $ref: 'a.json' } },
      ['a.json not.$ref ref.pointer'],
      { 'a.json': { not: { $ref: '#/x' } } },
    ],
    'two schemas of the same $id': [
      { $ref: '#/$defs/a', $defs: { a: { $id: 'x:y' }, b: { $id: 'x:y' } } },
      ['main $defs.b.$id schema.id'],
    ],
    'two anchors of the same name': [
      { $ref: '#a', $defs: { a: { $anchor: 'a' }, b: { $anchor: 'a' } } },
      ['main $defs.b schema.anchor'],
    ],
  };
  for (const [why, [schema, told, files]] of Object.entries(BAD)) {
    it(`tells ${why}`, () => assert.deepEqual(bundle(schema, files), { whole: undefined, told }));
  }

  it('takes a chain of a thousand references, and stops at schemas that are made to grow', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 4000 }, (_, i) => [`d${i}`, i === 3999 ? true : { $ref: `#/$defs/d${i + 1}` }]),
    );
    assert.deepEqual(bundle({ type: 'array', items: { $ref: '#/$defs/d0' }, $defs: chain }).told, []);
    const many = Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`d${i}`, {}]));
    const all = Array.from({ length: 6000 }, (_, i) => ({ $ref: `#/$defs/d${i}` }));
    assert.deepEqual(bundle({ allOf: all, $defs: many }).told, ['main  ref.too_many']);
  });

  it('means the same whether a part is written in place or referred to', async () => {
    const leaf = fc.constantFrom<JsonSchema>(
      true,
      { type: 'string' },
      { type: 'number' },
      { minLength: 2 },
      { maximum: 3 },
      { const: 'ab' },
    );
    const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((allOf) => ({ allOf })),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
        tie('schema').map((not) => ({ not })),
        fc
          .dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 })
          .map((properties) => ({ type: 'object', properties })),
        tie('schema').map((items) => ({ type: 'array', items })),
      ),
    }));
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, 1, 5, 'ab', 'x'),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('value'), { maxKeys: 2 }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(schema, fc.array(value, { minLength: 3, maxLength: 6 }), async (inline, values) => {
        const defs: { [name: string]: unknown } = {};
        const split = bundle({ $ref: 'main.json#/$defs/d0', $defs: defs, ...splitUp(inline, defs) }).whole;
        for (const one of values) {
          assert.equal(
            await fits(split, structuredClone(one)),
            await fits(inline, structuredClone(one)),
            JSON.stringify(inline),
          );
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Every part of a schema as a definition of its own. */
function splitUp(schema: unknown, defs: { [name: string]: unknown }): object {
  const name = `d${Object.keys(defs).length}`;
  defs[name] = true;
  if (typeof schema !== 'object' || schema === null) {
    defs[name] = schema;
    return { $ref: `#/$defs/${name}` };
  }
  const part = (one: unknown) => splitUp(one, defs);
  const whole = Object.entries(schema as { [keyword: string]: unknown }).map(([keyword, value]) => {
    if (keyword === 'allOf' || keyword === 'anyOf') return [keyword, (value as unknown[]).map(part)];
    if (keyword === 'not' || keyword === 'items') return [keyword, part(value)];
    if (keyword === 'properties')
      return [
        keyword,
        Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, part(one)])),
      ];
    return [keyword, value];
  });
  defs[name] = Object.fromEntries(whole);
  return { $ref: `#/$defs/${name}` };
}
