// Owns: the promise that a registered secret survives in no form, and that ordinary text stays as it is.
// Refuses: real secrets; every key here is made up.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { createRedactor, type Redactor } from './create-redactor.ts';

const SECRET = 'hunter2+/?&="\'\\ü x';

/** How a text can be encoded as a whole, and read back. */
const ENCODINGS: { readonly [name: string]: { encode(t: string): string; decode(t: string): string } } = {
  plain: { encode: (t) => t, decode: (t) => t },
  json: { encode: (t) => JSON.stringify(t), decode: (t) => t },
  base64: {
    encode: (t) => Buffer.from(t).toString('base64'),
    decode: (t) => Buffer.from(t.replaceAll('[redacted]', ''), 'base64').toString(),
  },
  'base64 in lines': {
    encode: (t) => Buffer.from(t).toString('base64').replaceAll(/.{12}/g, '$&\r\n'),
    decode: (t) => Buffer.from(t.replaceAll('[redacted]', ''), 'base64').toString(),
  },
  base64url: {
    encode: (t) => Buffer.from(t).toString('base64url'),
    decode: (t) => Buffer.from(t.replaceAll('[redacted]', ''), 'base64url').toString(),
  },
  hex: {
    encode: (t) => Buffer.from(t).toString('hex'),
    decode: (t) => Buffer.from(t.replaceAll('[redacted]', ''), 'hex').toString(),
  },
  'upper-case hex with colons': {
    encode: (t) =>
      Buffer.from(t)
        .toString('hex')
        .toUpperCase()
        .replaceAll(/..(?=.)/g, '$&:'),
    decode: (t) => Buffer.from(t.replaceAll('[redacted]', '').replaceAll(':', ''), 'hex').toString(),
  },
  percent: { encode: (t) => encodeURIComponent(t), decode: (t) => decodeURIComponentOr(t) },
  'lower-case percent': {
    encode: (t) => encodeURIComponent(t).replaceAll(/%../g, (e) => e.toLowerCase()),
    decode: (t) => decodeURIComponentOr(t),
  },
  'every byte percent': {
    encode: (t) => Buffer.from(t).toString('hex').replaceAll(/../g, '%$&'),
    decode: (t) => decodeURIComponentOr(t),
  },
  form: {
    encode: (t) => new URLSearchParams({ a: t }).toString(),
    decode: (t) => new URLSearchParams(t).get('a') ?? '',
  },
};

const HOSTILE = [
  'a',
  '-',
  'eyJ',
  'eyJaaaaaaaa.',
  'sk-',
  '://a:',
  'A="',
  'A_SECRET=',
  '"a":"',
  '\\"a\\":\\"',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN PRIVATE KEY-----\na',
  '?a=',
  '--a ',
  'Bearer ',
  'Basic aaaaaaaaaaaaaaaaaaaaaaaa',
  '%61',
  '\nA:',
  '.atlasv1.',
];

function decodeURIComponentOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

describe('createRedactor', () => {
  for (const [name, { encode, decode }] of Object.entries(ENCODINGS)) {
    for (const before of ['', 'a', 'ab', 'user:', '√']) {
      it(`hides a registered secret in ${name} after "${before}"`, () => {
        const { text } = createRedactor({ secrets: [SECRET], guess: false });
        const shown = text(encode(`${before}${SECRET} and more`));
        assert.match(shown, /\[redacted\]/);
        assert.ok(!decode(shown).includes(SECRET), shown);
      });
    }
  }

  const secrets = fc
    .string({ minLength: 6, maxLength: 40, unit: 'grapheme' })
    .filter((s) => s.trim().length >= 4);
  const around = fc.string({ maxLength: 30, unit: 'grapheme' });

  it('leaves no registered secret in any encoding, whatever stands around it', () => {
    fc.assert(
      fc.property(
        secrets,
        around,
        around,
        fc.constantFrom(...Object.keys(ENCODINGS)),
        (secret, before, after, name) => {
          fc.pre(!'[redacted]'.includes(secret) && !secret.includes('[redacted]'));
          fc.pre(Buffer.from(secret).toString() === secret);
          const { encode, decode } = ENCODINGS[name]!;
          const shown = createRedactor({ secrets: [secret], guess: false }).text(
            encode(before + secret + after),
          );
          assert.ok(shown.includes('[redacted]'), shown);
          assert.ok(!decode(shown).includes(secret) && !shown.includes(secret), shown);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('hides secrets that overlap, contain each other or repeat', () => {
    const { text } = createRedactor({ secrets: ['abcdef', 'defghi', 'cdef', 'xyxyx'], guess: false });
    assert.equal(text('1abcdefghi2'), '1[redacted]2');
    assert.equal(text('xyxyxyx'), '[redacted]');
    assert.equal(text('abcdefabcdef abcde'), '[redacted] abcde');
  });

  it('does not register what is too short to tell from ordinary words', () => {
    assert.equal(createRedactor({ secrets: ['', 'abc'] }).text('abcabc'), 'abcabc');
  });

  it('finds a secret that was read with its line break', () => {
    assert.equal(createRedactor({ secrets: ['s3cret-value\n'] }).text('is s3cret-value!'), 'is [redacted]!');
  });

  it('hides values by the names of their members, and keeps the rest', () => {
    const { value } = createRedactor();
    assert.deepEqual(
      value({
        Authorization: 'Bearer x',
        nested: [{ api_key: 'k', clientSecret: ['a'], DB_PASSWORD: 7, has_password: true, token: null }],
        max_tokens: 5,
        next_page_token: 'n',
        tokens: [1],
        'set-cookie': ['a=b'],
        note: 'plain',
      }),
      {
        Authorization: '[redacted]',
        nested: [
          {
            api_key: '[redacted]',
            clientSecret: '[redacted]',
            DB_PASSWORD: '[redacted]',
            has_password: true,
            token: null,
          },
        ],
        max_tokens: 5,
        next_page_token: 'n',
        tokens: [1],
        'set-cookie': '[redacted]',
        note: 'plain',
      },
    );
  });

  it('hides registered secrets in keys, and keeps __proto__ an ordinary key', () => {
    const { value } = createRedactor({ secrets: ['s3cret-value'] });
    const shown = value(JSON.parse('{"__proto__":{"a":1},"x s3cret-value":2}'));
    assert.equal(JSON.stringify(shown), '{"__proto__":{"a":1},"x [redacted]":2}');
  });

  it('ends at a depth that no stack can follow', () => {
    let deep: unknown = 'leaf';
    for (let i = 0; i < 5000; i += 1) deep = [deep];
    assert.match(JSON.stringify(createRedactor().value(deep)), /\[redacted\]/);
  });

  it('changes nothing in ordinary text and values', () => {
    const { text, value } = createRedactor({ secrets: ['s3cret-value'] });
    const ordinary = [
      'const token = parser.next(); if (password) return secret;',
      'function f(token: string, key: Buffer) {}',
      'see https://example.org/a?page=2&key_count=3 at 10:30',
      'sk-learn and task-force-one-two-three-four-five',
      'the basic authentication of bearer tokens',
      'commit 9fceb02d0ae598e95dc970b74767f19372d61af8',
      'sha512-abc/def+ghi==',
      '%PATH% 100% %zz',
    ];
    for (const line of ordinary) assert.equal(text(line), line);
    assert.deepEqual(value({ path: 'a/b', list: [1, null, true] }), { path: 'a/b', list: [1, null, true] });
  });

  it('redacts bytes that are no text, and only the secret in them', () => {
    const { bytes } = createRedactor({ secrets: ['geheim-ü-wort'], guess: false });
    const noise = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
    const shown = bytes(Buffer.concat([noise, Buffer.from('geheim-ü-wort'), noise]));
    assert.deepEqual(Buffer.from(shown), Buffer.concat([noise, Buffer.from('[redacted]'), noise]));
  });

  // Each takes well under a second; time that grew with the square of the input would be hours.
  for (const piece of HOSTILE) {
    it(`gets through half a megabyte of ${JSON.stringify(piece)}`, { timeout: 60_000 }, () => {
      const { text } = createRedactor({ secrets: ['a'.repeat(50), `${'a'.repeat(30)}b`, 's3cret-value'] });
      assert.ok(text(piece.repeat(Math.ceil(500_000 / piece.length))).length > 0);
    });
  }
});

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
