// Owns: the promise that base64 of a registered secret leaves nothing of it, however it lies in its group of three bytes.
// Refuses: real secrets; every one here is made up.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from './create-redactor.ts';

const SECRETS = ['s3cr3tvalue', 's3cr3tvalu', 's3cr3tval', 'ü-s3cr3t?>~'];

describe('base64 of a registered secret', () => {
  for (const secret of SECRETS)
    for (const kind of ['base64', 'base64url'] as const)
      for (const before of ['', 'a', 'ab', 'user:'])
        for (const after of ['', '!', ':x', '\n'])
          it(`leaves nothing: ${kind} of ${JSON.stringify([before, secret, after])}`, () => {
            const redactor = createRedactor({ secrets: [secret], guess: false });
            const encoded = Buffer.from(before + secret + after).toString(kind);
            assert.equal(redactor.text(encoded), '[redacted]');
            assert.equal(redactor.text(`token "${encoded}", ok\n`), 'token "[redacted]", ok\n');
            assert.equal(redactor.text(`${encoded}\nHello\n`), '[redacted]\nHello\n');
            const bytes = Buffer.from(`${encoded}\nHello\n`);
            assert.equal(Buffer.from(redactor.bytes(bytes)).toString(), '[redacted]\nHello\n');
            for (let cut = 1; cut < bytes.length; cut += 1) {
              const stream = redactor.stream();
              const shown = [
                stream.push(bytes.subarray(0, cut)),
                stream.push(bytes.subarray(cut)),
                stream.end(),
              ];
              assert.equal(Buffer.concat(shown).toString(), '[redacted]\nHello\n');
            }
          });

  for (const end of ['\n', '\r\n'])
    for (let before = 40; before < 64; before += 1)
      it(`leaves nothing in lines that end in ${JSON.stringify(end)}, after ${before} bytes`, () => {
        const [secret = ''] = SECRETS;
        const whole = Buffer.from(`${'.'.repeat(before)}${secret}${'.'.repeat(80)}`).toString('base64');
        const text = whole.replaceAll(/.{64}/g, `$&${end}`);
        const redactor = createRedactor({ secrets: [secret], guess: false });
        // Each character is six bits; these hold some of the secret.
        const [first, last] = [Math.floor((before * 8) / 6), Math.ceil(((before + secret.length) * 8) / 6)];
        const shown = redactor.text(text).replaceAll(/[\r\n]/g, '');
        const [left = '', right = ''] = shown.split('[redacted]');
        assert.ok(left.length <= first, shown);
        assert.ok(right.length <= whole.length - last, shown);
        for (let cut = 1; cut < text.length; cut += 1) {
          const stream = redactor.stream();
          const bytes = Buffer.from(text);
          const parts = [stream.push(bytes.subarray(0, cut)), stream.push(bytes.subarray(cut)), stream.end()];
          assert.equal(Buffer.concat(parts).toString(), redactor.text(text));
        }
      });
});
