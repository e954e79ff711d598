import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { fail } from '../contract/errors.ts';
import { createAnswerReader, readAnswer, readAnswerText, readEnvelope, readProgress } from './answer.ts';

describe('readAnswer', () => {
  const CASES: readonly (readonly [what: string, answer: unknown, read: unknown])[] = [
    ['data', { rows: 3 }, { ok: true, data: { rows: 3 } }],
    ['text', 'text', { ok: true, data: 'text' }],
    ['null', null, { ok: true, data: null }],
    ['data that has an ok of its own', { ok: true, rows: 3 }, { ok: true, data: { ok: true, rows: 3 } }],
    ['data that is nothing but ok', { ok: true }, { ok: true, data: { ok: true } }],
    ['an envelope', { ok: true, data: [1] }, { ok: true, data: [1] }],
    [
      'a whole ToolResponse',
      { type: 'ToolResponse', ok: true, tool: 't', data: 1, errors: [] },
      { ok: true, data: 1 },
    ],
    ['a failure', { ok: false, error: { message: 'no' } }, { ok: false, message: 'no' }],
    ['a failure in words', { ok: false, error: 'no' }, { ok: false, message: 'no' }],
    [
      'a failure of a ToolResponse',
      { ok: false, data: null, errors: [{ code: 'E_HTTP', message: 'no', details: { host: 'h' } }] },
      { ok: false, message: 'no', details: { code: 'E_HTTP', host: 'h' } },
    ],
    [
      'a failure without words',
      { ok: false, errors: [] },
      { ok: false, message: 'the tool says that it failed' },
    ],
  ];
  for (const [what, answer, read] of CASES)
    it(`reads ${what}`, () => assert.deepEqual(readAnswer(answer), read));
});

describe('readEnvelope', () => {
  it('takes everything for an envelope', () => {
    assert.deepEqual(readEnvelope({ data: 1 }), { ok: true, data: 1 });
    assert.deepEqual(readEnvelope({ ok: false }), { ok: false, message: 'the tool says that it failed' });
  });
});

describe('readProgress', () => {
  it('reads per cent, words, or both, and nothing else', () => {
    assert.deepEqual(readProgress(50), { pct: 50 });
    assert.deepEqual(readProgress({ pct: 1, message: 'm', other: 1 }), { pct: 1, message: 'm' });
    assert.deepEqual(readProgress({ pct: 'x' }), {});
    assert.equal(readProgress('half'), undefined);
    assert.equal(readProgress(Number.NaN), undefined);
  });
});

async function read(chunks: readonly string[], maxBytes = 100_000) {
  const seen: unknown[] = [];
  const reader = createAnswerReader({ id: 'p.x', maxBytes, progress: (one) => seen.push(one) });
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return { text: await reader.text(), seen };
}

describe('createAnswerReader', () => {
  it('takes lines of progress out of the answer, and nothing else', async () => {
    const answer = '{\n  "progress": 3,\n  "rows": []\n}\n';
    assert.deepEqual(
      await read(['{"progress": 10}\n', ' { "progress" : {"pct": 20, "message": "m"} }\n', answer]),
      {
        text: answer,
        seen: [{ pct: 10 }, { pct: 20, message: 'm' }],
      },
    );
    for (const other of [
      '{"progress": 1, "data": 2}',
      '{"progress": "x"}',
      '{"progress": ',
      '{"progress":[]}',
    ])
      assert.deepEqual(await read([other]), { text: other, seen: [] });
    const long = `{"progress": {"message": "${'x'.repeat(9000)}"}}\n`;
    assert.deepEqual(await read([long]), { text: long, seen: [] });
  });

  it('reads the same however the text is cut', async () => {
    const line = fc.constantFrom(
      '{"progress":1}\n',
      '{"a":1}\n',
      'ü€\n',
      '\n',
      `${'y'.repeat(9000)}\n`,
      '{"progress":{"pct":2}}\n',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 8 }),
        fc.integer({ min: 1, max: 5000 }),
        async (lines, size) => {
          const bytes = Buffer.from(lines.join(''));
          const seen: unknown[] = [];
          const reader = createAnswerReader({ id: 'x', maxBytes: 1e6, progress: (one) => seen.push(one) });
          for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
          assert.equal(await reader.text(), lines.filter((one) => !one.includes('progress')).join(''));
          assert.equal(seen.length, lines.filter((one) => one.includes('progress')).length);
        },
      ),
    );
  });

  it('refuses more than an answer may be; progress does not count', async () => {
    assert.equal((await read(['{"progress":1}\n'.repeat(100), 'x'.repeat(10)], 10)).text.length, 10);
    await assert.rejects(read(['x'.repeat(11)], 10), { reason: 'output.too_large' });
    await assert.rejects(read(['x\n'.repeat(6)], 10), { reason: 'output.too_large' });
  });

  it('keeps elsewhere what is more, from its beginning, and says where', async () => {
    const kept: string[] = [];
    let discarded = false;
    const spill = () => ({
      write: async (piece: Uint8Array) => void kept.push(Buffer.from(piece).toString()),
      fail: async (limit: number) => fail('output.too_large', 'too large', { limit, artifact: 'sha256:x' }),
      discard: async () => {
        discarded = true;
      },
    });
    const reader = createAnswerReader({ id: 'p.x', maxBytes: 10, spill, progress() {} });
    assert.equal(reader.push(Buffer.from('one\n')), undefined);
    for (const chunk of ['two\n{"progress":1}\nth', 'ree\n', 'four']) await reader.push(Buffer.from(chunk));
    await assert.rejects(reader.text(), { details: { limit: 10, artifact: 'sha256:x' } });
    assert.equal(kept.join(''), 'one\ntwo\nthree\nfour');
    await reader.discard();
    assert.ok(discarded);
  });
});

describe('readAnswerText', () => {
  it('reads JSON, envelopes, and text where the tool promises it', () => {
    assert.deepEqual(readAnswerText(' {"a": 1}\n', {}), { ok: true, data: { a: 1 } });
    assert.deepEqual(readAnswerText('{"ok":false,"error":"no"}', {}), { ok: false, message: 'no' });
    assert.deepEqual(readAnswerText('', {}), { ok: true, data: null });
    assert.equal(readAnswerText('words', {}), undefined);
    const text = { type: 'string' };
    assert.deepEqual(readAnswerText('words\n', text), { ok: true, data: 'words' });
    assert.deepEqual(readAnswerText('12\n', text), { ok: true, data: '12' });
    assert.deepEqual(readAnswerText('"quoted"', text), { ok: true, data: 'quoted' });
    assert.deepEqual(readAnswerText('{"ok":true,"data":"x"}', text), { ok: true, data: 'x' });
    assert.deepEqual(readAnswerText('', text), { ok: true, data: '' });
    assert.deepEqual(readAnswerText('12', { type: ['string', 'integer'] }), { ok: true, data: 12 });
  });
});
