import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readAnswer, readEnvelope, readProgress } from './answer.ts';

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
