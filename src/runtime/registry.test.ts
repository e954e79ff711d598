import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SchemaCheck } from '../contract/json.ts';
import { defineBuiltin } from '../contract/tool.ts';
import { createRegistry } from './registry.ts';

const tool = (id: string) =>
  defineBuiltin({
    id,
    title: id,
    description: id,
    input: { title: `${id} in` },
    output: true,
    effects: () => [],
    run: () => ({}),
  });
const ok: SchemaCheck = () => [];

describe('createRegistry', () => {
  it('sorts tools by id', () => {
    const registry = createRegistry(
      ['b', 'a', 'c'].map((id) => ({ tool: tool(id), origin: 'test' })),
      { compile: () => ok },
    );
    assert.deepEqual(
      registry.all().map((one) => one.tool.id),
      ['a', 'b', 'c'],
    );
  });
  it('names the nearest tool for one that is not there', () => {
    const registry = createRegistry([{ tool: tool('file_read'), origin: 'test' }], { compile: () => ok });
    assert.throws(() => registry.find('file_raed'), {
      reason: 'tool.unknown',
      message: /did you mean "file_read"/,
    });
  });
  it('refuses two tools of one id', () => {
    const twice = [1, 2].map((n) => ({ tool: tool('x'), origin: `pack ${n}` }));
    assert.throws(() => createRegistry(twice, { compile: () => ok }), {
      reason: 'pack.invalid',
      message: /pack 1/,
    });
  });
  it('compiles a schema with its first use, once', async () => {
    let compiled = 0;
    const registry = createRegistry([{ tool: tool('x'), origin: 'test' }], {
      compile: async () => {
        compiled++;
        return ok;
      },
    });
    assert.equal(compiled, 0);
    const found = registry.find('x');
    await found.checkInput();
    assert.equal(found.checkInput(), ok);
    assert.equal(compiled, 1);
  });
  it('tries again after a compilation failed', async () => {
    let tries = 0;
    const registry = createRegistry([{ tool: tool('x'), origin: 'test' }], {
      compile: async () => {
        if (++tries === 1) throw new Error('not yet');
        return ok;
      },
    });
    await assert.rejects(async () => registry.find('x').checkInput());
    assert.equal(await registry.find('x').checkInput(), ok);
  });
});
