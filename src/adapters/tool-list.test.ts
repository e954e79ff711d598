import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { nameTools, toolId } from './tool-list.ts';

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
