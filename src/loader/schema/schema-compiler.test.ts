import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DIALECT_URIS } from './dialect.ts';
import { createSchemaCompiler } from './schema-compiler.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    max_bytes: { type: 'integer', minimum: 1, default: 10 },
    mode: { enum: ['a', 'b'] },
  },
  required: ['path'],
  additionalProperties: false,
} as const;

const check = async (schema: object, value: unknown) =>
  (await createSchemaCompiler().compile(schema as never))(value);

describe('createSchemaCompiler', () => {
  it('fills in defaults', async () => {
    const value = { path: 'x' };
    assert.deepEqual(await check(SCHEMA, value), []);
    assert.deepEqual(value, { path: 'x', max_bytes: 10 });
  });

  for (const [title, value, message] of [
    ['what is missing', {}, 'is missing "path"'],
    [
      'what is too much, with the nearest name',
      { path: 'x', max_byte: 1 },
      'has no property "max_byte"; did you mean "max_bytes"?',
    ],
    ['what is of another type', { path: 1 }, 'must be string'],
    ['what is not one of the choices', { path: 'x', mode: 'c' }, 'must be one of "a", "b"'],
    ['a bound', { path: 'x', max_bytes: 0 }, 'must be >= 1'],
  ] as const) {
    it(`says ${title}`, async () => {
      assert.deepEqual(
        (await check(SCHEMA, value)).map((problem) => problem.message),
        [message],
      );
    });
  }

  it('tells two patterns apart although both are objects to the schema library', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a+$' }, b: { type: 'string', pattern: '^b+$' } },
    };
    assert.deepEqual(await check(schema, { a: 'aa', b: 'bb' }), []);
    assert.deepEqual(
      (await check(schema, { a: 'bb', b: 'aa' })).map((problem) => problem.path),
      ['/a', '/b'],
    );
  });

  it('matches a pattern that would backtrack for ever in linear time', async () => {
    const schema = { type: 'string', pattern: '^(a+)+$' };
    assert.equal((await check(schema, `${'a'.repeat(50_000)}!`)).length, 1);
  });

  it('reports at most twenty problems', async () => {
    const value = Array.from({ length: 1000 }, () => 1);
    assert.equal((await check({ type: 'array', items: { type: 'string' } }, value)).length, 20);
  });

  for (const $schema of [undefined, DIALECT_URIS['draft-07'], DIALECT_URIS['2020-12']])
    for (const own of [{}, { $id: '' }, { $id: 'https://example.org/tree' }])
      it(`follows "#" to the whole schema (${$schema ?? 'no $schema'}, ${JSON.stringify(own)})`, async () => {
        const said = { ...($schema ? { $schema } : {}), ...own };
        const kids = { type: 'array', items: { $ref: '#' } };
        const tree = { ...said, type: 'object', properties: { kids }, additionalProperties: false };
        const compiler = createSchemaCompiler();
        const checkTree = await compiler.compile(tree as never);
        assert.deepEqual(await checkTree({ kids: [{ kids: [{}] }] }), []);
        assert.deepEqual(
          (await checkTree({ kids: [{ kids: [{ kids: 1 }] }] })).map(({ path }) => path),
          ['/kids/0/kids/0/kids'],
        );
        // Another whole schema of the same compiler is not taken for it.
        const list = { ...said, type: 'array', items: { $ref: '#' } };
        const checkList = await compiler.compile(list as never);
        assert.deepEqual(await checkList([[], [[]]]), []);
        assert.equal((await checkTree([])).length, 1);
        assert.equal((await checkList({})).length, 1);
      });

  it('ends where a schema refers to itself without end', async () => {
    await assert.rejects(check({ allOf: [{ $ref: '#' }] }, {}), /refers to itself without end/);
  });

  it('refuses a schema that is none', async () => {
    await assert.rejects(async () => createSchemaCompiler().compile({ type: 'strin' }), {
      reason: 'pack.invalid',
    });
  });

  it('uses the check that was compiled for exactly this schema, and for no other', async () => {
    let asked = 0;
    const fits = () => {
      asked++;
      return true;
    };
    const ready = { text: JSON.stringify(SCHEMA), fits };
    const compiler = createSchemaCompiler({ mine: async () => ({ input: ready, output: ready }) });
    assert.deepEqual(await (await compiler.compile(SCHEMA, 'mine', 'input'))({}), []);
    assert.equal((await (await compiler.compile(SCHEMA, 'other', 'input'))({})).length, 1);
    assert.equal((await (await compiler.compile({ type: 'array' }, 'mine', 'output'))({})).length, 1);
    assert.equal(asked, 1);
  });

  it('says all that is wrong although the compiled check only says that something is', async () => {
    const ready = { text: JSON.stringify(SCHEMA), fits: () => false };
    const compiler = createSchemaCompiler({ mine: async () => ({ input: ready, output: ready }) });
    const problems = await (await compiler.compile(SCHEMA, 'mine', 'input'))({ mode: 'c', max_bytes: 0 });
    assert.equal(problems.length, 3);
  });
});
