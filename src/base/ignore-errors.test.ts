import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoreErrors, succeeds } from './ignore-errors.ts';

const fails = () => {
  throw new Error('gone');
};

test('ignoreErrors returns what the action returns, and undefined where it throws', () => {
  assert.equal(
    ignoreErrors(() => 1),
    1,
  );
  assert.equal(ignoreErrors(fails), undefined);
});

test('succeeds says whether the action ended without throwing', () => {
  assert.equal(
    succeeds(() => {}),
    true,
  );
  assert.equal(succeeds(fails), false);
});
