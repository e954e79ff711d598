import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundTool } from '../../contract/tools-for-tests.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { applyOverlay, overlayFor, unusedOverlays, withFixed } from './overlay.ts';

const input = {
  type: 'object',
  properties: { path: { type: 'string' }, mode: { type: 'string' }, depth: { type: 'integer' } },
  required: ['path', 'mode'],
  additionalProperties: false,
};
const tool = boundTool('files.read', 'mcp', { name: 'read' }, { input, mutates: true });
const fits = async (schema: never, args: object) =>
  (await (await createSchemaCompiler().compile(schema))(args)).length === 0;

describe('overlayFor', () => {
  it('lays later ones over earlier ones, by name and by pattern', () => {
    const overlays = { '*': { hide: true, title: 'any' }, 'read*': { hide: false }, write: { hide: false } };
    assert.deepEqual(overlayFor(overlays, 'read_file'), { hide: false, title: 'any' });
    assert.deepEqual(overlayFor(overlays, 'list'), { hide: true, title: 'any' });
    assert.deepEqual(unusedOverlays(overlays, ['read_file']), ['write']);
  });
});

describe('applyOverlay', () => {
  it('changes what it names, and nothing else', () => {
    const limits = { timeout_ms: 1 };
    const over = { title: 't', description: 'd', tags: ['x'], idempotent: true, mutates: false, limits };
    const { contract, binding } = applyOverlay(tool, over);
    assert.deepEqual(
      [contract.title, contract.description, contract.tags, contract.idempotent, contract.mutates],
      ['t', 'd', ['x'], true, false],
    );
    assert.deepEqual(contract.limits, { ...tool.contract.limits, timeoutMs: 1 });
    assert.deepEqual(binding, tool.binding);
    assert.deepEqual(applyOverlay(tool, {}).contract, tool.contract);
  });

  it('takes arguments away from callers, and gives them to the server', async () => {
    const { contract, binding } = applyOverlay(tool, { fix: { mode: 'text' } });
    const schema = contract.input as never;
    assert.equal(await fits(schema, { path: 'a' }), true);
    assert.equal(await fits(schema, { path: 'a', mode: 'binary' }), false);
    assert.equal(await fits(schema, {}), false);
    assert.deepEqual(withFixed(binding.target, { path: 'a' }), { path: 'a', mode: 'text' });
    const open = applyOverlay(boundTool('x', 'mcp', {}, { input: { type: 'object' } }), {
      fix: { mode: 'text' },
    });
    assert.equal(await fits(open.contract.input as never, { mode: 'binary' }), false);
  });

  it('narrows arguments, and never widens them', async () => {
    const narrow = { path: { pattern: '^notes/' }, depth: { maximum: 2 } };
    const schema = applyOverlay(tool, { narrow }).contract.input as never;
    assert.equal(await fits(schema, { path: 'notes/a', mode: 'x' }), true);
    assert.equal(await fits(schema, { path: 'secret', mode: 'x' }), false);
    assert.equal(await fits(schema, { path: 'notes/a', mode: 'x', depth: 3 }), false);
    assert.equal(await fits(schema, { path: 3, mode: 'x' }), false);
    const wider = applyOverlay(tool, { narrow: { other: true } }).contract.input as never;
    assert.equal(await fits(wider, { path: 'a', mode: 'x', other: 1 }), false);
  });
});
