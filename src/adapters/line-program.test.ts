import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { createLineReader, idOfEnds } from './line-program.ts';

function read(chunks: readonly Uint8Array[], maxBytes: number) {
  const lines: string[] = [];
  const reader = createLineReader(maxBytes, {
    line: (bytes) => lines.push(bytes.toString()),
    oversize: (length, head, tail) => lines.push(`${length}:${head.slice(0, 3)}…${tail.slice(-3)}`),
  });
  for (const chunk of chunks) reader.push(chunk);
  return lines;
}

describe('createLineReader', () => {
  it('finds the same lines however the bytes are cut', () => {
    const texts = fc.array(fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\n', ' ')));
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const chunks: Buffer[] = [];
        for (let at = 0, n = 0; at < bytes.length; at += cuts[n % cuts.length]!, n++)
          chunks.push(bytes.subarray(at, at + cuts[n % cuts.length]!));
        assert.deepEqual(read(chunks, 10_000), bytes.toString().split('\n').slice(0, -1));
      }),
    );
  });

  it('keeps only the ends of a line that is too long, and goes on after it', () => {
    const long = Buffer.from(`abc${'x'.repeat(100_000)}xyz`);
    assert.deepEqual(read([long, Buffer.from('\nshort\n')], 1000), ['100006:abc…xyz', 'short']);
    const pieces = Array.from({ length: 1001 }, (_, n) => long.subarray(n * 100, n * 100 + 100));
    assert.deepEqual(read([...pieces, Buffer.from('\n')], 1000), ['100006:abc…xyz']);
    assert.deepEqual(read([Buffer.from('exact\n')], 5), ['exact']);
  });
});

describe('idOfEnds', () => {
  it('knows the id at either end of a message, and none within', () => {
    assert.equal(idOfEnds('{"id": 7, "data": ', ''), 7);
    assert.equal(idOfEnds('{"jsonrpc":"2.0","id":8,"result":', ''), 8);
    assert.equal(idOfEnds('{"result":{"id":3', '"}],"jsonrpc":"2.0","id":9}'), 9);
    assert.equal(idOfEnds('{"result":{"id":3', '"id":3},"x":1}'), undefined);
  });
});
