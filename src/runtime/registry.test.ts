import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import type { SchemaCheck } from '../contract/json.ts';
import { defineBuiltin } from '../contract/tool.ts';
import { clientName, createRegistry, createToolNames } from './registry.ts';

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
  it('tells of a tool that its pack cannot offer why, to whoever calls or lists it', async () => {
    const registry = createRegistry([], { compile: () => ok });
    registry.refuse('pack hub', { 'hub.odd': 'its schema is none' });
    const { reason, message } = await registry.explainMissing('hub.odd');
    assert.deepEqual([reason, message], ['pack.invalid', 'Cannot call "hub.odd": its schema is none']);
    await assert.rejects(registry.seek('hub.odd', new AbortController().signal), { reason: 'pack.invalid' });
  });
  it('refuses two tools of one id', () => {
    const twice = [1, 2].map((n) => ({ tool: tool('x'), origin: `pack ${n}` }));
    assert.throws(() => createRegistry(twice, { compile: () => ok }), {
      reason: 'pack.invalid',
      message: /pack 1/,
    });
  });
  it('knows each tool by the name that MCP clients accept, as long as it is there', () => {
    const registry = createRegistry([{ tool: tool('file_read'), origin: 'builtin' }], { compile: () => ok });
    registry.add([{ tool: tool('hub.echo'), origin: 'pack hub' }]);
    assert.deepEqual(
      registry.all().map(({ name }) => name),
      ['file_read', 'hub-echo'],
    );
    assert.equal(registry.named('hub-echo')?.tool.id, 'hub.echo');
    assert.equal(registry.named('hub.echo'), undefined);
    registry.remove('pack hub');
    assert.equal(registry.named('hub-echo'), undefined);
  });
  it('refuses a tool whose name MCP clients know another by, and leaves all as it was', () => {
    const names = createToolNames();
    names.recall(
      new Map([
        ['gone.tool', 'hub-echo'],
        ['old.sum', 'sum'],
      ]),
    );
    const builtins = [{ tool: tool('file_read'), origin: 'builtin' }];
    const registry = createRegistry(builtins, { compile: () => ok }, names);
    const offer = (...ids: string[]) => ids.map((id) => ({ tool: tool(id), origin: 'pack p' }));
    const refused = {
      reason: 'pack.invalid',
      message: /MCP clients would call it "hub-echo", and that is "gone.tool"/,
    };
    assert.throws(() => registry.add(offer('hub.fine', 'hub.echo')), refused);
    assert.equal(registry.get('hub.fine'), undefined);
    registry.add(offer('old.sum', 'gone.tool'));
    assert.equal(registry.get('old.sum')?.name, 'sum');
    assert.throws(() => registry.add([{ tool: tool('sum'), origin: 'pack q' }]), {
      message: /that is "old.sum"/,
    });
    names.recall(new Map());
    assert.throws(() => registry.add(offer('hub.echo')), refused);
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

const segment = fc.stringMatching(/^[a-z][a-z0-9_]{0,30}$/);
const id = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join('.'));

describe('clientName', () => {
  it('leaves a builtin as it is, and takes the dots out of others', () => {
    assert.equal(clientName('file_read'), 'file_read');
    assert.equal(clientName('everything.get_sum'), 'everything-get_sum');
    assert.equal(clientName('a.b.c'), 'a-b-c');
  });

  it('is a name that clients accept, whatever the id', () =>
    fc.assert(fc.property(id, (one) => assert.match(clientName(one), /^[a-zA-Z0-9_-]{1,64}$/))));

  it('is another one for every other id', () => {
    fc.assert(
      fc.property(id, id, (one, other) => assert.equal(clientName(one) === clientName(other), one === other)),
    );
    const long = `pack.${'x'.repeat(80)}`;
    assert.notEqual(clientName(`${long}a`), clientName(`${long}b`));
    for (const [one, other] of [
      ['a.b_c', 'a_b.c'],
      ['fs.list', 'fs_list'],
      [long, clientName(long).replaceAll(/-+/g, '.')],
    ] as const)
      assert.notEqual(clientName(one), clientName(other));
  });
});
