import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moduleText, withPacks } from './toolpack-for-tests.ts';

const HEAD = "import { refuseArgument } from 'haft/toolpack';";
const packOf = (canonicalize: string) => ({ 'toolpack.ts': moduleText({ canonicalize }, HEAD) });

describe('refuseArgument', () => {
  it('refuses the call with the path of the argument, before anything runs', () =>
    withPacks(async ({ open, prepare }) => {
      const { value } = await open(
        packOf("() => refuseArgument('/by/0/column', 'names no column; there are a, b')"),
      );
      await assert.rejects(prepare(value!), {
        code: 'E_VALIDATION_FAIL',
        reason: 'input.refused',
        message: 'Cannot call "text_stats": /by/0/column names no column; there are a, b',
        details: {
          problems: [
            { path: '/by/0/column', keyword: 'refused', message: 'names no column; there are a, b' },
          ],
        },
      });
    }));

  it('takes the name of an argument, and is known after an await and below other code', () =>
    withPacks(async ({ open, prepare }) => {
      const { value } = await open(
        packOf(`async ({ text }, ctx) => {
          await ctx.artifacts.stat(text);
          [1].forEach(() => refuseArgument('text', 'is not a table'));
        }`),
      );
      await assert.rejects(prepare(value!), {
        details: { problems: [{ path: '/text', keyword: 'refused', message: 'is not a table' }] },
      });
    }));

  it('that depends on the world is no refusal: the toolpack is unstable', () =>
    withPacks(async ({ open, prepare }) => {
      const sometimes = await open(
        packOf(
          "(args) => process.env.HAFT_OTHER ? refuseArgument('text', 'no') : ({ canonicalParams: {}, inputsToLink: [] })",
        ),
      );
      await assert.rejects(prepare(sometimes.value!), { reason: 'toolpack.unstable' });
      const clock = await open(packOf("() => refuseArgument('text', `on ${process.env.USER}`)"));
      await assert.rejects(prepare(clock.value!), { reason: 'toolpack.unstable' });
    }));

  it('is not an error that merely says so', () =>
    withPacks(async ({ open, prepare }) => {
      const { value } = await open(packOf("() => { throw new Error('refused') }"));
      await assert.rejects(prepare(value!), { reason: 'toolpack.failed', code: 'E_INTERNAL' });
    }));
});
