// Owns: that canonical JSON is RFC 8785 on its vectors and on random values, and that each refusal names its place.
// Refuses: timing.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import fc from '../../test/support/properties.ts';
import { canonicalJson, canonicalText, isNestedDeeper } from './canonical-json.ts';

const VECTORS = new URL('../../../shared/data/rfc8785/', import.meta.url);

describe('canonicalJson', () => {
  it('gives the expected bytes for the vectors of RFC 8785', (t) => {
    if (!existsSync(VECTORS)) {
      const reason = 'the RFC 8785 vectors (../shared/data/rfc8785) are not beside this repository';
      assert.notEqual(process.env.CI, 'true', reason);
      t.skip(reason);
      return;
    }
    const names = readdirSync(new URL('input/', VECTORS));
    assert.ok(names.length >= 6);
    for (const name of names) {
      const value: unknown = JSON.parse(readFileSync(new URL(`input/${name}`, VECTORS), 'utf8'));
      const expected = readFileSync(new URL(`output/${name}`, VECTORS), 'utf8').trimEnd();
      assert.equal(canonicalText(value), expected, name);
      assert.equal(Buffer.from(canonicalJson(value)).toString('utf8'), expected, name);
    }
  });

  it('agrees with the canonicalize package on any JSON value', () => {
    fc.assert(fc.property(canonicalValue, (value) => canonicalText(value) === canonicalize(value)));
  });

  it('gives back an equal value when parsed', () => {
    fc.assert(
      fc.property(canonicalValue, (value) => {
        const text = canonicalText(value);
        assert.equal(canonicalText(JSON.parse(text)), text);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('does not depend on the order in which keys were added', () => {
    const entries = fc.uniqueArray(fc.tuple(wellFormed, canonicalValue), {
      selector: ([key]) => key,
      maxLength: 40,
    });
    const shuffled = entries.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        assert.equal(canonicalText(Object.fromEntries(one)), canonicalText(Object.fromEntries(other)));
      }),
    );
  });

  it('treats __proto__ and integer-like keys like any key', () => {
    const value: unknown = JSON.parse(
      '{"b":1,"__proto__":{"x":1},"9":1,"10":2,"-1":3,"01":4,"constructor":5}',
    );
    assert.equal(
      canonicalText(value),
      '{"-1":3,"01":4,"10":2,"9":1,"__proto__":{"x":1},"b":1,"constructor":5}',
    );
  });

  it('sorts keys by UTF-16 code units, few or many', () => {
    const few = { '\ufb33': 1, '\u{1f600}': 2, é: 3, z: 4 };
    assert.equal(canonicalText(few), '{"z":4,"é":3,"\u{1f600}":2,"\ufb33":1}');
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${(i * 7919) % 200}`, i]));
    assert.equal(canonicalText(many), canonicalize(many));
  });

  it('writes numbers as ECMAScript does', () => {
    const numbers = [
      0,
      -0,
      9,
      10,
      99,
      100,
      999_999_999,
      1e9,
      2 ** 31,
      2 ** 32,
      -1,
      0.1,
      1e-7,
      1e21,
      5e-324,
      1.7976931348623157e308,
    ];
    assert.equal(canonicalText(numbers), JSON.stringify(numbers));
    assert.equal(canonicalText([2 ** 53 - 1, 1 - 2 ** 53]), '[9007199254740991,-9007199254740991]');
    fc.assert(fc.property(fc.integer({ min: 0, max: 2e9 }), (n) => canonicalText(n) === String(n)));
  });

  it('writes long, escaped and non-ASCII strings whole', () => {
    for (const text of [
      'x'.repeat(64),
      'x'.repeat(65),
      '€'.repeat(5000),
      '\u0000\u001f"\\\u007f'.repeat(999),
      '\u{1f600}'.repeat(33),
    ]) {
      assert.equal(canonicalText([text, text]), JSON.stringify([text, text]));
    }
  });

  it('takes shared references, objects without a prototype, and 64 levels', () => {
    const shared = { x: [1] };
    assert.equal(
      canonicalText({ a: shared, b: [shared, shared] }),
      '{"a":{"x":[1]},"b":[{"x":[1]},{"x":[1]}]}',
    );
    assert.equal(canonicalText(Object.assign(Object.create(null), { b: 1, a: 2 })), '{"a":2,"b":1}');
    assert.equal(canonicalText(nest(64)), '['.repeat(64) + ']'.repeat(64));
  });

  for (const [name, make, path] of rejections()) {
    it(`refuses ${name} and says where`, () => {
      for (const encode of [canonicalJson, canonicalText]) {
        assert.throws(
          () => encode(make()),
          (error: Error) => {
            assert.ok(error instanceof Error);
            const { code, reason, path: where } = { ...error } as Record<string, unknown>;
            assert.deepEqual(
              { code, reason, path: where },
              { code: 'E_VALIDATION_FAIL', reason: 'input.not_canonical', path },
            );
            return error.message.startsWith(`Cannot canonicalise the value at "${path}": it`);
          },
        );
      }
    });
  }

  it('does not run an accessor to refuse it', () => {
    let ran = false;
    const get = () => {
      ran = true;
      return 1;
    };
    assert.throws(() => canonicalJson(Object.defineProperty({}, 'a', { enumerable: true, get })));
    assert.throws(() => canonicalJson(Object.defineProperty([0], 0, { enumerable: true, get })));
    assert.equal(ran, false);
  });
});

const wellFormed = fc.string({ unit: 'binary' });
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((n) => Math.abs(n) < 2 ** 53 || Math.abs(n) >= 1e21),
);
const { value: canonicalValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(wellFormed, fc.string(), number, fc.boolean(), fc.constant(null)),
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(wellFormed, fc.nat(99).map(String)), tie('value')),
  ),
}));

function nest(levels: number): unknown {
  let value: unknown[] = [];
  for (let i = 1; i < levels; i++) value = [value];
  return value;
}

function rejections(): [name: string, make: () => unknown, path: string][] {
  class Point {
    readonly x = 1;
  }
  const cyclic = (): unknown => {
    const value: { a: { b: unknown[] } } = { a: { b: [0] } };
    value.a.b.push(value.a);
    return value;
  };
  const self = (): unknown => {
    const value: unknown[] = [];
    value.push(value);
    return value;
  };
  const accessor = { enumerable: true, get: () => 1 };
  return [
    ['undefined', () => undefined, ''],
    ['undefined in an object', () => ({ a: undefined }), '/a'],
    ['undefined in an array', () => [1, undefined], '/1'],
    ['a function', () => ({ a: { b: () => 1 } }), '/a/b'],
    ['a toJSON', () => ({ a: { toJSON: () => 1 } }), '/a/toJSON'],
    ['a symbol', () => [Symbol('x')], '/0'],
    ['a bigint', () => ({ a: [{ b: 1n }] }), '/a/0/b'],
    ['NaN', () => ({ a: [Number.NaN] }), '/a/0'],
    ['infinity', () => [Number.POSITIVE_INFINITY], '/0'],
    ['minus infinity', () => [0, Number.NEGATIVE_INFINITY], '/1'],
    ['2^53', () => ({ n: 2 ** 53 }), '/n'],
    ['-2^53', () => ({ n: -(2 ** 53) }), '/n'],
    ['the largest integer that is written in digits', () => 999_999_999_999_999_900_000, ''],
    ['a lone high surrogate', () => ({ a: 'x\ud800y' }), '/a'],
    ['a lone low surrogate', () => ['\udc00'], '/0'],
    ['a lone surrogate in a long string', () => [`${'x'.repeat(500)}\ud800`], '/0'],
    ['a lone surrogate in a key', () => ({ a: { 'k\ud800': 1 } }), '/a/k\ufffd'],
    ['65 levels', () => nest(65), '/0'.repeat(64)],
    ['a Date', () => ({ a: new Date(0) }), '/a'],
    ['a Map', () => [new Map()], '/0'],
    ['a Set', () => [new Set()], '/0'],
    ['a RegExp', () => /x/, ''],
    ['bytes', () => ({ a: new Uint8Array(1) }), '/a'],
    ['a boxed string', () => [Object('x')], '/0'],
    ['a class instance', () => ({ 'a/b': { '~': new Point() } }), '/a~1b/~0'],
    ['an object with a prototype of its own', () => [Object.create({ inherited: 1 })], '/0'],
    ['an Array subclass', () => new (class extends Array {})(), ''],
    ['an array with a hole', () => ({ a: Object.assign(new Array(3), { 0: 1, 2: 3 }) }), '/a/1'],
    ['a huge sparse array', () => new Array(2 ** 32 - 1), '/0'],
    ['an array with an extra property', () => ({ a: Object.assign([1], { x: 1 }) }), '/a'],
    ['the result of a regular expression', () => /x/.exec('x'), ''],
    ['a symbol as a key', () => ({ a: { [Symbol('x')]: 1 } }), '/a'],
    ['a symbol as a key of an array', () => Object.assign([1], { [Symbol('x')]: 1 }), ''],
    ['a getter', () => ({ a: Object.defineProperty({}, 'g', accessor) }), '/a/g'],
    ['a getter in an array', () => [Object.defineProperty([0, 0], 1, accessor)], '/0/1'],
    ['a setter', () => ({ a: Object.defineProperty({}, 's', { enumerable: true, set: () => {} }) }), '/a/s'],
    ['a cycle', cyclic, '/a/b/1'],
    ['an array that holds itself', self, '/0'],
  ];
}

const lists = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

describe('isNestedDeeper', () => {
  it('counts arrays and objects, and nothing else', () => {
    assert.equal(isNestedDeeper('x', 0), false);
    assert.equal(isNestedDeeper(null, 0), false);
    assert.equal(isNestedDeeper([], 0), true);
    assert.equal(isNestedDeeper({ a: [1] }, 2), false);
    assert.equal(isNestedDeeper([1, { a: [1] }], 2), true);
    assert.equal(isNestedDeeper(lists(64)), false);
    assert.equal(isNestedDeeper(lists(65)), true);
  });

  it('comes back from what nobody else would', () => {
    assert.equal(isNestedDeeper(lists(1_000_000)), true);
    const circle: unknown[] = [];
    circle.push(circle, circle);
    assert.equal(isNestedDeeper(circle), true);
  });
});
