import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { JsonSchema } from '../contract/json.ts';
import { createSchemaCompiler } from '../loader/schema/schema-compiler.ts';
import { BUILTIN_TOOLS } from './index.ts';
import { REQUIRED_ARGUMENTS } from './required-arguments.ts';

/** Every schema inside of a schema that describes an object. */
function objectsIn(schema: unknown): { readonly [keyword: string]: unknown }[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const inner = Object.values(schema).flatMap(objectsIn);
  return 'properties' in schema ? [schema as { readonly [keyword: string]: unknown }, ...inner] : inner;
}

const propertiesOf = (schema: JsonSchema) =>
  Object.entries((schema as { properties: Record<string, Record<string, unknown>> }).properties);

/** By tag, where it is not the ten seconds of file tools. */
const TIME_LIMITS: { readonly [tag: string]: number } = {
  artifacts: 600_000,
  network: 15_000,
  runs: 600_000,
  shell: 605_000,
};

describe('BUILTIN_TOOLS', () => {
  it('is sorted by id, without one twice', () => {
    const ids = BUILTIN_TOOLS.map((tool) => tool.id);
    assert.deepEqual(ids, [...new Set(ids)].sort());
  });

  it('is listed under its id in camel case, which types of calls are made of', () => {
    const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const listed = readFileSync(join(import.meta.dirname, 'index.ts'), 'utf8').matchAll(/^ {2}(\w+),$/gm);
    const names = [...listed].map(([, name = '']) => snake(name));
    assert.deepEqual(
      names,
      BUILTIN_TOOLS.map(({ id }) => id),
    );
  });

  it('requires the arguments that the types of calls require', () => {
    for (const [id, required] of Object.entries(REQUIRED_ARGUMENTS)) {
      const { input } = BUILTIN_TOOLS.find((tool) => tool.id === id)!;
      assert.deepEqual(required, (input as { required?: readonly string[] }).required, id);
    }
  });

  for (const tool of BUILTIN_TOOLS) {
    describe(tool.id, () => {
      it('has a name of one segment, and a description that ends like a sentence', () => {
        assert.match(tool.id, /^[a-z][a-z0-9_]*$/);
        assert.match(tool.description, /\.$/);
        assert.ok(tool.tags.length > 0 && tool.title.length > 0);
      });

      it('takes no argument and gives no field that it does not name', () => {
        for (const schema of [...objectsIn(tool.input), ...objectsIn(tool.output)]) {
          assert.equal(schema.additionalProperties, false);
        }
      });

      it('describes every argument, and says a default for each that has one', () => {
        const { required = [] } = tool.input as { required?: readonly string[] };
        for (const [name, property] of propertiesOf(tool.input)) {
          assert.match(String(property.description ?? ''), /\.$|\d\}\.$/, name);
          if (property.type === 'boolean') assert.ok(required.includes(name) || 'default' in property, name);
        }
      });

      it('offers dry_run and no_undo, if it changes files by itself', () => {
        const names = propertiesOf(tool.input).map(([name]) => name);
        const changesFiles = tool.mutates && !['shell', 'runs'].some((tag) => tool.tags.includes(tag));
        assert.equal(names.includes('dry_run') && names.includes('no_undo'), changesFiles);
      });

      it('has examples that its own schema takes', async () => {
        const check = await createSchemaCompiler().compile(tool.input);
        assert.ok(tool.examples && tool.examples.length > 0);
        for (const { args } of tool.examples) assert.deepEqual(check({ ...args }), []);
      });

      it('ends within the time of its family', () => {
        const [limit = 10_000] = tool.tags.flatMap((tag) => TIME_LIMITS[tag] ?? []);
        assert.equal(tool.limits.timeoutMs, limit);
      });
    });
  }
});
