import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { fromBytes, isText, toPrintable, toSystem } from './byte-path.ts';

describe('byte paths', () => {
  it('keep every byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        assert.deepEqual(Buffer.from(toSystem(fromBytes(Buffer.from(bytes)))), Buffer.from(bytes));
      }),
    );
  });

  it('leave text as it is', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString();
        assert.equal(fromBytes(Buffer.from(text)), text);
        assert.equal(toSystem(text), text);
        assert.equal(isText(text), true);
      }),
    );
  });

  it('tell a byte that is not UTF-8 from the character that stands for it, and from surrogates in bytes', () => {
    assert.equal(isText(fromBytes(Buffer.from('\ufffd'))), true);
    assert.equal(toPrintable(fromBytes(Buffer.from([0x61, 0xff, 0x0a]))), 'a\\xff\\x0a');
    assert.equal(toPrintable(fromBytes(Buffer.from([0xed, 0xb2, 0x80]))), '\\xed\\xb2\\x80');
  });
});
