import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkCapabilities } from './check-capabilities.ts';

const fine = { name: 'words', handle: () => ({}) };

describe('checkCapabilities', () => {
  it('takes what a capability may have', () => {
    checkCapabilities([]);
    checkCapabilities([
      fine,
      { ...fine, open: () => 1, locks: () => [], protects: ['index'], close: undefined },
    ]);
  });

  for (const [what, given, says] of [
    ['no list', fine, /must be a list/],
    ['no object', [5], /capabilities\[0\] is not an object/],
    ['no name', [fine, { handle: fine.handle }], /capabilities\[1\] has no name/],
    ['no handle', [{ name: 'words' }], /a function "handle"/],
    ['names of locks that are no function', [{ ...fine, locks: ['words'] }], /a function as "locks"/],
    ['protected paths that are no list', [{ ...fine, protects: 'x' }], /in a list as "protects"/],
    ['a misspelt field', [{ ...fine, opne: () => 1 }], /no field "opne"; did you mean "open"/],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.throws(() => checkCapabilities(given), says);
    });
  }
});
