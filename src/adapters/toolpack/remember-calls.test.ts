import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../contract/json.ts';
import { rememberCalls } from './remember-calls.ts';
import type { Agreement, Asking } from './toolpack.ts';

const signal = new AbortController().signal;

/** A toolpack that asks for an image and puts it into its plan, and counts how often it was asked itself. */
function site(answer: (image: unknown) => Agreement<unknown> = (image) => ({ ok: true, value: { image } })) {
  let asked = 0;
  const calls = rememberCalls(async (_tool, _args, { reply }) => {
    asked++;
    return answer(await reply('images.pin', ['busybox']).catch(() => 'none'));
  });
  return {
    ask: async (args: Json, reply: Asking['reply'] = async () => 'first', tool = 'tool') => {
      const before = asked;
      const agreed = await calls(tool, args, { signal, reply });
      return { value: agreed.ok ? agreed.value : undefined, isNew: asked > before };
    },
  };
}

describe('rememberCalls', () => {
  it('asks the toolpack once for equal calls, whatever the order of their keys', async () => {
    const { ask } = site();
    assert.deepEqual(await ask({ a: 1, b: 2 }), { value: { image: 'first' }, isNew: true });
    assert.deepEqual(await ask({ b: 2, a: 1 }), { value: { image: 'first' }, isNew: false });
    assert.equal((await ask({ a: 1, b: 3 })).isNew, true);
    assert.equal((await ask({ a: 1, b: 2 }, undefined, 'other')).isNew, true);
  });

  it('asks again when what the toolpack had asked for is answered otherwise, or not at all', async () => {
    const { ask } = site();
    await ask({});
    assert.deepEqual(await ask({}, async () => 'second'), { value: { image: 'second' }, isNew: true });
    assert.equal((await ask({}, async () => 'second')).isNew, false);
    const gone = () => Promise.reject(new Error('gone'));
    assert.deepEqual(await ask({}, gone), { value: { image: 'none' }, isNew: true });
    assert.equal((await ask({}, gone)).isNew, true, 'what came of a failure is not remembered');
    assert.equal((await ask({}, async () => 'second')).isNew, false);
  });

  it('remembers nothing that the processes did not agree on', async () => {
    const { ask } = site(() => ({ ok: false, difference: { path: '', first: 1, second: 2 } }));
    await ask({});
    assert.equal((await ask({})).isNew, true);
  });

  it('gives everybody an answer of their own', async () => {
    const { ask } = site();
    await ask({});
    const first = (await ask({})).value as { image: string };
    first.image = 'changed';
    assert.deepEqual((await ask({})).value, { image: 'first' });
  });

  it('forgets the oldest of very many, and never keeps a very long one', async () => {
    const { ask } = site();
    for (let n = 0; n <= 1_000; n++) await ask({ n });
    assert.equal((await ask({ n: 0 })).isNew, true);
    assert.equal((await ask({ n: 1_000 })).isNew, false);
    const long = { text: 'x'.repeat(70_000) };
    await ask(long);
    assert.equal((await ask(long)).isNew, true);
  });
});
