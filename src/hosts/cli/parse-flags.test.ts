import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import type { CommandOption } from './command.ts';
import { parseAny, parsePlain } from './parse-flags.ts';

const OPTIONS: Readonly<Record<string, CommandOption>> = {
  json: { type: 'boolean', help: '' },
  help: { type: 'boolean', short: 'h', help: '' },
  session: { type: 'string', help: '' },
  root: { type: 'string', multiple: true, help: '' },
};

describe('parsePlain', () => {
  it('reads words, flags and flags with a value', () => {
    const args = ['file_read', '--session', 's1', '{"path":"a"}', '--json', ''];
    assert.deepEqual({ ...parsePlain(args, OPTIONS) }, parseAny(args, OPTIONS));
    assert.ok(parsePlain(args, OPTIONS));
  });

  it('leaves to the whole parser what is not plain', () => {
    const odd = [['-h'], ['-'], ['--'], ['--json=1'], ['--session'], ['--session', '-1'], ['--root', 'a']];
    for (const args of [...odd, ['--toString'], ['--__proto__'], ['--no-json'], ['--jsn'], ['-json']])
      assert.equal(parsePlain(args, OPTIONS), undefined, args.join(' '));
  });

  it('reads nothing otherwise than the whole parser', () => {
    const word = fc.oneof(
      fc.constantFrom(
        '--json',
        '--help',
        '--session',
        '--root',
        '--',
        '-',
        '-h',
        '--json=x',
        '--session=x',
        '',
      ),
      fc.constantFrom(
        '--no-json',
        '--toString',
        '--constructor',
        '--__proto__',
        '---json',
        'json',
        '{"a":1}',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (args) => {
        const plain = parsePlain(args, OPTIONS);
        if (plain) assert.deepEqual(plain, parseAny(args, OPTIONS));
      }),
    );
  });
});
