import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILD_KEYS } from './build-keys.ts';
import { SECTIONS } from './sections/index.ts';

it('BUILD_KEYS are the sections that check the build or have keys without an effect', () => {
  const asking = SECTIONS.filter(({ checkBuild, unused }) => checkBuild ?? unused);
  assert.deepEqual(
    BUILD_KEYS,
    asking.map(({ key }) => key),
  );
});
