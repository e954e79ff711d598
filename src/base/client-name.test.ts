import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { clientName } from './client-name.ts';

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
