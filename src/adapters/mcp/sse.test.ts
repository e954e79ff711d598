import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { createEventReader } from './sse.ts';

function read(chunks: readonly string[], maxBytes = 1000) {
  const seen: string[] = [];
  const long: string[] = [];
  const reader = createEventReader({
    maxBytes,
    event: ({ data, id }) => seen.push(id === '' ? data : `${id}:${data}`),
    overflow: (...pieces) => void long.push(Buffer.concat(pieces).toString()),
  });
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  return { seen, reader, long: long.join('') };
}

describe('createEventReader', () => {
  it('reads events as browsers do', () => {
    assert.deepEqual(read(['data: a\n\ndata:b\n\n']).seen, ['a', 'b']);
    assert.deepEqual(read(['data: a\ndata: b\n\n']).seen, ['a\nb']);
    assert.deepEqual(read([': comment\r\ndata:  two spaces\r\n\r\n']).seen, [' two spaces']);
    assert.deepEqual(read(['event: message\rdata: a\r\r\n']).seen, ['a']);
    assert.deepEqual(read(['id: 1\ndata: a\n\ndata: b\n\n']).seen, ['1:a', '1:b']);
    assert.deepEqual(read(['data: unfinished\n']).seen, []);
    assert.deepEqual(read(['data\n\n']).seen, ['']);
    const { reader } = read(['retry: 50\nid: x\n\nretry: soon\nid: bad\0\n\n']);
    assert.deepEqual([reader.retryMs, reader.lastId], [50, 'x']);
  });

  it('reads the same events however the text is cut', () => {
    const line = fc.stringMatching(/^[a-zü€]{0,6}$/);
    const end = fc.constantFrom('\n', '\r\n');
    fc.assert(
      fc.property(fc.array(line), end, fc.integer({ min: 1, max: 7 }), (lines, newline, size) => {
        const bytes = Buffer.from(lines.map((text) => `data: ${text}${newline}${newline}`).join(''));
        const seen: string[] = [];
        const reader = createEventReader({
          maxBytes: 1000,
          event: ({ data }) => seen.push(data),
          overflow: () => assert.fail('too long'),
        });
        for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
        assert.deepEqual(seen, lines);
      }),
    );
  });

  it('hands on an event that is too long, in one line or in many, however the text is cut', () => {
    const lines = fc.array(fc.constantFrom('a'.repeat(400), 'ü'.repeat(700), 'x'), {
      minLength: 3,
      maxLength: 6,
    });
    const end = fc.constantFrom('\n', '\r\n');
    fc.assert(
      fc.property(lines, end, fc.integer({ min: 1, max: 900 }), (data, newline, size) => {
        const whole = ['y'.repeat(600), ...data, 'z'.repeat(600)];
        const event = ['id: 7', ...whole.map((text) => `data: ${text}`), 'event: message', '', ''].join(
          newline,
        );
        const bytes = Buffer.from(`data: short${newline}${newline}${event}`);
        const long: Uint8Array[] = [];
        const seen: string[] = [];
        const reader = createEventReader({
          maxBytes: 1000,
          event: (one) => seen.push(one.data),
          overflow: (...pieces) => void long.push(...pieces),
        });
        for (let at = 0; at < bytes.length && !reader.overflown; at += size)
          reader.push(bytes.subarray(at, at + size));
        // One whose end came with the piece that made it too long is held already.
        const passed = seen.length === 1;
        assert.deepEqual(
          [seen[0], passed ? Buffer.concat(long).toString() : seen[1], reader.overflown],
          ['short', whole.join('\n'), passed],
        );
      }),
    );
    assert.equal(read([`data: ${'x'.repeat(900)}\n\n`.repeat(3)]).seen.length, 3);
    assert.equal(read(['data: ', 'x'.repeat(2000), '\n\n']).long, 'x'.repeat(2000));
  });

  it('takes a carriage return that comes last before an event is too long for half an end of line', () => {
    const line = 'x'.repeat(600);
    for (const [end, rest] of [
      ['\r', '\n'],
      ['\r\n', ''],
      ['\r', ''],
      ['\n', ''],
    ]) {
      const { long, reader } = read([`data: ${line}\r\ndata: ${line}${end}`, `${rest}data:z\r\n\r\n`]);
      assert.deepEqual([long, reader.overflown], [`${line}\n${line}\nz`, true], JSON.stringify([end, rest]));
    }
  });
});
