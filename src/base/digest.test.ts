// Owns: that every digest equals the one node:crypto gives for the same bytes, by whichever way it was made.
// Refuses: timing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { createJsSha256, createSha256, digest, isDigest, sha256Hex } from './digest.ts';

const reference = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

describe('createJsSha256', () => {
  it('agrees with node:crypto at every length around a block', () => {
    for (let length = 0; length <= 260; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => i * 31 + length);
      const hash = createJsSha256();
      hash.update(bytes);
      assert.equal(hash.hex(), reference(bytes), `${length} bytes`);
    }
  });

  it('agrees with node:crypto however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 12 }), (pieces) => {
        const hash = createJsSha256();
        for (const piece of pieces) hash.update(piece);
        assert.equal(hash.hex(), reference(Buffer.concat(pieces)));
      }),
    );
  });
});

describe('sha256Hex', () => {
  it('equals sha256sum, for bytes and for text, small and large', () => {
    assert.equal(sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    assert.equal(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    for (const text of ['€ 😀', 'x'.repeat(1000), 'é'.repeat(100_000)]) {
      assert.equal(sha256Hex(text), reference(text));
      assert.equal(sha256Hex(Buffer.from(text)), reference(text));
    }
  });

  it('agrees before and after it changes over to node:crypto, which it loads only then', () => {
    const script = `
      const { sha256Hex } = await import(${JSON.stringify(new URL('./digest.ts', import.meta.url).href)});
      const isLoaded = () => process.moduleLoadList.includes('NativeModule crypto');
      const small = new Uint8Array(1024).fill(7);
      const seen = [isLoaded(), sha256Hex(small), isLoaded()];
      const all = new Set();
      for (let i = 0; i < 100; i++) all.add(sha256Hex(small));
      console.log(JSON.stringify([...seen, ...all, isLoaded()]));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    const expected = reference(new Uint8Array(1024).fill(7));
    assert.deepEqual(JSON.parse(output), [false, expected, false, expected, true]);
  });
});

describe('createSha256', () => {
  it('agrees with node:crypto over small and large pieces, and keeps no hold on them', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40_000), { maxLength: 6 }), (sizes) => {
        const hash = createSha256();
        const whole = createHash('sha256');
        const piece = Buffer.alloc(40_000);
        for (const size of sizes) {
          piece.fill(size);
          whole.update(piece.subarray(0, size));
          hash.update(piece.subarray(0, size));
          piece.fill(0);
        }
        assert.equal(hash.hex(), whole.digest('hex'));
      }),
      { numRuns: 50 },
    );
  });
});

describe('digest', () => {
  it('frames type and body with their lengths in bytes', () => {
    assert.equal(digest('params/v1', Buffer.from('{}')), reference('haft1 9 params/v1 2 {}'));
    assert.equal(digest('audit/v1', Buffer.from('€')), reference('haft1 8 audit/v1 3 €'));
    assert.equal(digest('run/v1', new Uint8Array()), reference('haft1 6 run/v1 0 '));
  });

  it('frames a large body in the same way', () => {
    for (const size of [65_536, 65_537, 3_000_000]) {
      const body = Buffer.alloc(size, 'body');
      assert.equal(digest('tree/v1', body), reference(`haft1 7 tree/v1 ${size} ${body.toString()}`));
    }
  });
});

describe('isDigest', () => {
  it('takes 64 lowercase hex digits and nothing else', () => {
    const hex = reference('x');
    assert.equal(isDigest(hex), true);
    for (const other of [
      `${hex}\n`,
      hex.toUpperCase(),
      hex.slice(1),
      `${hex}0`,
      `sha256:${hex}`,
      '',
      null,
      5,
    ]) {
      assert.equal(isDigest(other), false);
    }
  });
});
