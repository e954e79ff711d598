import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { createRedactor } from '../base/redact/create-redactor.ts';
import { leftOut, nameTools, toolId, usableTools } from './tool-list.ts';

describe('toolId', () => {
  const NAMES: readonly (readonly [string, string])[] = [
    ['read_file', 'files.read_file'],
    ['read-file', 'files.read_file'],
    ['getFileInfo', 'files.get_file_info'],
    ['HTTPRequest', 'files.http_request'],
    ['DATA_EXPORT_v2', 'files.data_export_v2'],
    ['admin.tools.list', 'files.admin.tools.list'],
    ['3d', 'files.t_3d'],
    ['???', 'files.t_x'],
    ['grüße', 'files.gr_e'],
  ];
  for (const [name, id] of NAMES) it(`makes ${id} of ${name}`, () => assert.equal(toolId('files', name), id));

  it('makes an id of any name', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (installation, name) => {
        assert.match(toolId(installation, name), /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/);
      }),
    );
  });
});

describe('nameTools', () => {
  it('leaves out every tool of a collision, and no other', () => {
    const { tools, collisions } = nameTools('x', ['a-b', 'a_b', 'c'], (name) => name);
    assert.deepEqual([...tools], [['x.c', 'c']]);
    assert.deepEqual(collisions, [{ id: 'x.a_b', names: ['a-b', 'a_b'] }]);
  });
});

describe('usableTools', () => {
  const T = 'Zq7SecretToken9x';
  const redactor = createRedactor({ secrets: [T], guess: false });
  const usable = (schema: object, rest: object = {}) =>
    usableTools('x', [{ name: 'a', schema, ...rest }], {
      redactor,
      schemas: ['schema'],
      faultOf: () => undefined,
    });

  const words: readonly object[] = [
    {
      type: 'object',
      description: T,
      properties: { k: { title: `as ${T}`, $comment: T, examples: [T, { k: T }] } },
    },
    { properties: { description: { description: T } } },
    { $defs: { examples: { examples: [T] } } },
  ];
  for (const schema of words)
    it(`redacts the words of ${JSON.stringify(schema)}`, () => {
      const { usable: tools, problems } = usable(schema, { description: T });
      assert.deepEqual(problems, []);
      assert.deepEqual(tools, [redactor.value({ name: 'a', schema, description: T })]);
      assert.ok(!JSON.stringify(tools).includes(T));
    });

  const meaning: readonly object[] = [
    { properties: { k: { enum: [T] } } },
    { properties: { k: { const: { description: T } } } },
    { properties: { k: { default: { examples: [T] } } } },
    { properties: { [T]: {} } },
    { properties: { examples: { enum: [T] } } },
    { $defs: { title: { pattern: T } } },
    { required: [T] },
    { allOf: [{ properties: { k: { format: T } } }] },
  ];
  for (const schema of meaning)
    it(`leaves out what is another tool without the secret: ${JSON.stringify(schema)}`, () => {
      const { usable: tools, problems, faulty } = usable(schema);
      assert.deepEqual(tools, []);
      const fault = 'a schema of "a" holds a secret that the server was given';
      assert.deepEqual(problems, [`"x" has a tool that cannot be used: ${fault}`]);
      assert.deepEqual(leftOut('x', faulty, []), { 'x.a': fault });
    });

  it('shows nothing of a name that holds the secret, nor the id that it would make', () => {
    for (const fault of [undefined, `"get${T}" has no input schema`]) {
      const {
        usable: tools,
        problems,
        faulty,
      } = usableTools('x', [{ name: `get${T}` }], {
        redactor,
        schemas: ['schema'],
        faultOf: () => fault,
      });
      assert.deepEqual([tools, leftOut('x', faulty, [])], [[], {}]);
      assert.ok(!problems.join().includes(T), problems.join());
    }
  });

  it('leaves tools as they came where there is no secret', () => {
    const tool = { name: 'a', schema: { properties: { k: { enum: [T] } } } };
    const options = { schemas: ['schema'], faultOf: () => undefined };
    assert.equal(usableTools('x', [tool], { ...options, redactor: undefined }).usable[0], tool);
    const other = createRedactor({ secrets: ['something else'], guess: false });
    const { usable: kept } = usableTools('x', [tool], { ...options, redactor: other });
    assert.equal(JSON.stringify(kept), JSON.stringify([tool]));
  });
});
