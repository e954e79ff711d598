import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { describeError, printable, table } from './terminal-text.ts';

describe('describeError', () => {
  const error = {
    code: 'E_SHELL',
    reason: 'sandbox.unavailable',
    message: 'Cannot run',
    retryable: false,
  } as const;

  it('shows what would help below what happened', () => {
    const hint = 'Install it: apt-get install bubblewrap';
    assert.equal(
      describeError({ ...error, details: { hint } }),
      `haft: Cannot run [E_SHELL sandbox.unavailable]\n  hint: ${hint}\n`,
    );
    assert.equal(describeError(error), 'haft: Cannot run [E_SHELL sandbox.unavailable]\n');
  });

  it('lets no hint move a cursor, and shows none that is not text', () => {
    assert.match(describeError({ ...error, details: { hint: 'a\u001b[2K' } }), /hint: a\\u001b\[2K\n$/);
    assert.doesNotMatch(describeError({ ...error, details: { hint: { a: 1 } } }), /hint/);
  });
});

describe('printable', () => {
  it('writes what could move a cursor or turn the text around as an escape', () => {
    assert.equal(printable('a\u001b[2Kb\u0007\u009b\u202ec'), 'a\\u001b[2Kb\\u0007\\u009b\\u202ec');
    assert.equal(printable('over\rwritten'), 'over\\u000dwritten');
  });

  it('leaves line feeds, tabs, CRLF and other scripts alone', () => {
    const text = 'grüße\t日本\r\n👋\n';
    assert.equal(printable(text), text);
  });

  it('never changes what JSON text means', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        assert.deepEqual(JSON.parse(printable(JSON.stringify(value))), JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe('table', () => {
  it('pads columns and leaves no space at the end of a line', () => {
    assert.equal(
      table(
        [
          ['a', 'bb', ''],
          ['ccc', 'd', 'e'],
        ],
        ['X'],
      ),
      'X\na    bb\nccc  d   e\n',
    );
  });

  it('makes one line of every row', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 4 }), (row) => {
        assert.equal(table([row]).split('\n').length, 2);
      }),
    );
  });
});
