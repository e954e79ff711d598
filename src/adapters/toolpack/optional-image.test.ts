import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleText, withPacks } from './toolpack-for-tests.ts';

const packOf = (pin: string) => ({
  'toolpack.ts': moduleText({
    canonicalize: `async (args, ctx) => ({
      canonicalParams: {}, inputsToLink: [],
      plan: { kind: 'docker', image: await ctx.images.pin(${pin}), argv: ['true'], inputs: [] },
    })`,
  }),
});

describe('an image that is optional', () => {
  it('is null where the host has no images at all: the plan runs without one, and is another run', () =>
    withPacks(async ({ open, prepare }) => {
      const without = await open(packOf("'nowhere:1', { optional: true }"));
      const bare = await prepare(without.value!);
      assert.deepEqual([bare.plan.image, bare.params.image], [undefined, null]);
      const having = await open(packOf("'text:1', { optional: true }"));
      const pinned = await prepare(having.value!);
      assert.equal(pinned.params.image, `sha256:${'b'.repeat(64)}`);
    }));

  it('is refused as ever where an engine was asked and did not have it', () =>
    withPacks(async ({ open, prepare }) => {
      const { value } = await open(packOf("'absent:1', { optional: true }"));
      await assert.rejects(prepare(value!), { reason: 'run.infrastructure' });
    }));

  it('is refused where it is not said to be optional', () =>
    withPacks(async ({ open, prepare }) => {
      for (const pin of ["'nowhere:1'", "'nowhere:1', { optional: false }", "'nowhere:1', {}"]) {
        const { value } = await open(packOf(pin));
        await assert.rejects(prepare(value!), { reason: 'image.unpinned', code: 'E_POLICY' });
      }
    }));
});
