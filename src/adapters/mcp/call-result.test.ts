import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCallResult } from './call-result.ts';

const text = (said: string) => ({ type: 'text', text: said });

describe('readCallResult', () => {
  it('answers the structured part of tools that describe one, and text of others', () => {
    const result = { content: [text('{"a":1}')], structuredContent: { a: 1 } };
    assert.deepEqual(readCallResult({ result }, true), { ok: true, data: { a: 1 } });
    assert.deepEqual(readCallResult({ result }, false), {
      ok: true,
      data: { text: '{"a":1}', structured: { a: 1 } },
    });
    const two = { content: [text('a'), text('b')] };
    assert.deepEqual(readCallResult({ result: two }, false), { ok: true, data: { text: 'a\nb' } });
    assert.deepEqual(readCallResult({ result: {} }, true), { ok: true, data: { text: '' } });
    const falsy = { content: [], structuredContent: null };
    assert.deepEqual(readCallResult({ result: falsy }, true), { ok: true, data: null });
  });

  it('keeps blocks that are not text, in their order, whether or not the data has a schema', () => {
    const image = { type: 'image', data: 'AA==', mimeType: 'image/png' };
    const blocks = [image, text('below it')];
    const plain = readCallResult({ result: { content: blocks } }, false);
    assert.deepEqual(plain, {
      ok: true,
      data: { text: 'below it', content: blocks },
      content: { blocks, inData: true },
    });
    const described = { content: blocks, structuredContent: { a: 1 } };
    assert.deepEqual(readCallResult({ result: described }, true), {
      ok: true,
      data: { a: 1 },
      content: { blocks, inData: false },
    });
    const failed = readCallResult({ result: { content: blocks, isError: true } }, true);
    assert.deepEqual(!failed.ok && failed.content?.blocks, blocks);
  });

  it("answers a failure in the tool's words, and never as data", () => {
    const result = { content: [text('no such city')], isError: true, structuredContent: { code: 7 } };
    assert.deepEqual(readCallResult({ result }, true), {
      ok: false,
      message: 'no such city',
      details: { structured: { code: 7 } },
    });
    assert.deepEqual(readCallResult({ result: { isError: true } }, true), {
      ok: false,
      message: 'the tool says that it failed',
    });
  });

  it('fails where the tool wants an answer from a person, or something unknown', () => {
    const asked = { resultType: 'input_required', inputRequests: { name: {} } };
    const answer = readCallResult({ result: asked }, true);
    assert.ok(!answer.ok && /nobody can be asked/.test(answer.message));
    assert.equal(readCallResult({ result: { resultType: 'task' } }, true).ok, false);
  });
});
