// Owns: that parseStrict is JSON.parse for what it accepts, and that nothing ambiguous gets through.
// Refuses: timing.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { parseStrict } from './strict-json.ts';

describe('parseStrict', () => {
  it('gives what JSON.parse gives, however the text is laid out', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.constantFrom(0, 2, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        assert.deepEqual(parseStrict(text), JSON.parse(text));
      }),
    );
  });

  it('keeps __proto__ as a key of its own', () => {
    const value = parseStrict('{"__proto__":{"x":1}}') as object;
    assert.deepEqual(Object.keys(value), ['__proto__']);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  it('is not misled by quotes, colons and backslashes inside strings', () => {
    for (const value of ['":', '\\', '\\"', '{"a":1,"a":1}', '\\\\":"', '"'.repeat(99), '\\'.repeat(99)]) {
      const text = JSON.stringify({ a: value, [value]: [value, { a: value }] });
      assert.deepEqual(parseStrict(text), JSON.parse(text));
    }
  });

  it('finds a key that was doubled anywhere', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.jsonValue(),
        fc.jsonValue(),
        fc.nat(5),
        (key, one, other, depth) => {
          const quoted = JSON.stringify(key);
          const object =
            `{${quoted}:${JSON.stringify(one)} , "${key}x" :0, ${quoted}:${JSON.stringify(other)}}`.replace(
              `"${key}x"`,
              JSON.stringify(`${key}x`),
            );
          const text = `${'[{"in":'.repeat(depth)}${object}${'}]'.repeat(depth)}`;
          const path = `${'/0/in'.repeat(depth)}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
          assert.throws(() => parseStrict(text), { reason: 'input.not_canonical', path });
        },
      ),
    );
  });

  const refused: [name: string, text: string, path: string][] = [
    ['two equal keys', '{"a":1,"a":1}', '/a'],
    ['two spellings of one key', '{"a":1,"\\u0061":2}', '/a'],
    ['a doubled __proto__', '{"__proto__":1,"__proto__":2}', '/__proto__'],
    ['a doubled empty key', '[1,{"":1,"":2}]', '/1/'],
    ['a doubled key in a value that a later one replaces', '{"a":{"b":1,"b":2},"a":1}', '/a/b'],
    [
      'a doubled key after strings that look like structure',
      '{"s":"{[,\\"","t":[0,"]"],"o":{"k":1 ,"k" : 2}}',
      '/o/k',
    ],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), '/0'.repeat(64)],
    ['65 levels of objects', '{"a":'.repeat(65) + 1 + '}'.repeat(65), '/a'.repeat(64)],
    ['a hundred thousand levels', '['.repeat(100_000) + ']'.repeat(100_000), '/0'.repeat(64)],
  ];
  for (const [name, text, path] of refused) {
    it(`refuses ${name} and says where`, () => {
      assert.throws(() => parseStrict(text), {
        code: 'E_VALIDATION_FAIL',
        reason: 'input.not_canonical',
        path,
      });
    });
  }

  it('takes 64 levels', () => {
    const text = '['.repeat(64) + ']'.repeat(64);
    assert.equal(JSON.stringify(parseStrict(text)), text);
  });

  it('says why a text is not JSON without quoting it', () => {
    for (const text of [
      '',
      'hunter2',
      '{"password":"hunter2"',
      '{"password":"hunter2",}',
      '["hunter2" "hunter2"]',
      '{hunter2}',
      '"hunter2\n"',
    ]) {
      assert.throws(
        () => parseStrict(text),
        (error: Error & { reason?: string }) =>
          error.reason === 'input.not_json' && !error.message.includes('hunter2'),
      );
    }
    assert.throws(() => parseStrict(''), { message: 'Cannot parse the text as JSON: it ends too early' });
  });
});
