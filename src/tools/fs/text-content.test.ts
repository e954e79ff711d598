import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { fromContent, toContent } from './text-content.ts';

const reason = (wanted: string) => (thrown: { reason?: string }) => thrown.reason === wanted;

describe('toContent', () => {
  it('gives back the very bytes, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const { content, encoding } = toContent(bytes, 'auto', 'x');
        const back = fromContent(content, encoding === 'base64' ? 'base64' : 'utf8', 'x');
        assert.deepEqual(Buffer.from(back), Buffer.from(bytes));
      }),
    );
  });

  const TABLE: [string, Uint8Array, 'utf-8' | 'base64'][] = [
    ['nothing', new Uint8Array(), 'utf-8'],
    ['text beyond ASCII', Buffer.from('naïve 🚀'), 'utf-8'],
    ['a byte order mark and CRLF', Buffer.from('\uFEFFa\r\n'), 'utf-8'],
    ['Latin-1', Buffer.from([0x6e, 0x61, 0xef, 0x76, 0x65]), 'base64'],
    ['a NUL byte', Buffer.from('a\0b'), 'base64'],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), 'base64'],
    ['an overlong slash', Buffer.from([0xc0, 0xaf]), 'base64'],
  ];
  for (const [what, bytes, encoding] of TABLE) {
    it(`auto takes ${what} as ${encoding}`, () =>
      assert.equal(toContent(bytes, 'auto', 'x').encoding, encoding));
  }

  it('utf8 allows NUL, and refuses bytes that are not UTF-8', () => {
    assert.equal(toContent(Buffer.from('a\0b'), 'utf8', 'x').content, 'a\0b');
    assert.throws(() => toContent(Buffer.from([0xff]), 'utf8', 'x'), reason('input.encoding'));
  });

  it('base64 encodes text, too', () => {
    assert.deepEqual(toContent(Buffer.from('hi'), 'base64', 'x'), { content: 'aGk=', encoding: 'base64' });
  });
});

describe('fromContent', () => {
  for (const bad of ['a', 'aGk', 'aG k=', 'aGk=\n', '!!!!', 'aGl=', '-_-_']) {
    it(`refuses ${JSON.stringify(bad)} as base64`, () => {
      assert.throws(() => fromContent(bad, 'base64', 'x'), reason('input.encoding'));
    });
  }

  it('refuses text with half of a surrogate pair', () => {
    assert.throws(() => fromContent('a\ud83d', 'utf8', 'x'), reason('input.encoding'));
  });
});
