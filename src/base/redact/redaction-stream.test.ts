// Owns: that a stream shows what the whole would show, wherever its pieces were cut.
// Refuses: streams of any library; a stream here is push and end.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { createRedactor, type Redactor } from './create-redactor.ts';

const key = `-----BEGIN PRIVATE KEY-----\n${'A1b2'.repeat(16)}\n${'C3d4'.repeat(16)}\n-----END PRIVATE KEY-----`;

function through(redactor: Redactor, text: string, sizes: readonly number[]): string {
  const stream = redactor.stream();
  const bytes = Buffer.from(text);
  const shown: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1);
    shown.push(stream.push(bytes.subarray(at, at + size)));
    at += size;
  }
  shown.push(stream.end());
  return Buffer.concat(shown).toString();
}

describe('createRedactionStream', () => {
  const secret = 'top-secret-ü-value';
  const words = fc.constantFrom(
    secret,
    Buffer.from(secret).toString('base64'),
    encodeURIComponent(secret),
    key,
    `ghp_${'a1B2'.repeat(9)}`,
    'PASSWORD=hunter2',
    'top-secret',
    'plain words',
    '\n',
    ' ',
    'ü',
  );
  const texts = fc.array(words, { maxLength: 12 }).map((list) => list.join(' '));
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

  it('shows what the whole would show, wherever it is cut', () => {
    const redactor = createRedactor({ secrets: [secret] });
    fc.assert(
      fc.property(texts, sizes, (text, cuts) => {
        assert.equal(through(redactor, text, cuts), redactor.text(text));
      }),
      { numRuns: 500 },
    );
  });

  it('finds a secret that is longer than a line and lies on many pieces', () => {
    const long = Array.from({ length: 50 }, (_, i) => `line ${i} of the secret`).join('\n');
    const redactor = createRedactor({ secrets: [long] });
    assert.equal(through(redactor, `a\n${long}\nb`, [7]), 'a\n[redacted]\nb');
    const wrapped = Buffer.from(long).toString('base64').replaceAll(/.{76}/g, '$&\n');
    assert.ok(!through(redactor, `a\n${wrapped}\nb`, [7]).includes(wrapped.slice(80, 140)));
  });

  it('shows lines as they come, and holds back no more than a secret could still be', () => {
    const stream = createRedactor({ secrets: [secret] }).stream();
    assert.equal(Buffer.from(stream.push(Buffer.from('one\ntwo'))).toString(), 'one\n');
    assert.equal(Buffer.from(stream.push(Buffer.from('\n'))).toString(), 'two\n');
    assert.equal(Buffer.from(stream.end()).toString(), '');
  });

  it('holds back a bounded part of a line that never ends, also byte by byte', () => {
    const stream = createRedactor({ secrets: ['aaaaaaaaab', secret] }).stream();
    let shown = 0;
    const one = Buffer.from('a');
    for (let i = 0; i < 600_000; i += 1) shown += stream.push(one).length;
    assert.ok(shown > 300_000, `${shown} shown`);
    assert.equal(shown + stream.end().length, 600_000);
  });

  it('holds back a bounded part where a broken-up encoding never goes on', () => {
    const stream = createRedactor({ secrets: [secret] }).stream();
    let shown = stream.push(Buffer.from(Buffer.from(secret).toString('base64').slice(0, 8))).length;
    const breaks = Buffer.from('\n'.repeat(1024));
    for (let i = 0; i < 2000; i += 1) shown += stream.push(breaks).length;
    assert.ok(shown > 1_000_000, `${shown} shown`);
  });

  it('swallows a private key as it comes', () => {
    const redactor = createRedactor();
    assert.equal(through(redactor, `x\n${key}\nafter. y\n`, [5]), 'x\n[redacted]\nafter. y\n');
    assert.equal(
      through(redactor, `x\n${key}\n${key}\nafter. y\n`, [50]),
      'x\n[redacted]\n[redacted]\nafter. y\n',
    );
  });
});
