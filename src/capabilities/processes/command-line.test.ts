import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from '../../base/redact/create-redactor.ts';
import { commandLine } from './command-line.ts';

const redactor = createRedactor();
const shown = (...args: string[]) => commandLine(args, 'name', redactor);

const TABLE: readonly (readonly [what: string, args: readonly string[], line: string])[] = [
  ['an ordinary line', ['cargo', 'build', '-q'], 'cargo build -q'],
  ['an option with a secret behind it', ['db', '--password', 'two words'], 'db --password [redacted]'],
  ['a short option with a name', ['db', '-token', 'abc'], 'db -token [redacted]'],
  ['an option with a secret in it', ['db', '--api-key=two words', '-v'], 'db --api-key=[redacted] -v'],
  ['an assignment', ['env', 'DB_PASSWORD=two words', 'npm'], 'env DB_PASSWORD=[redacted] npm'],
  ['a name that only sounds like it', ['x', '--max-tokens', '100'], 'x --max-tokens 100'],
  ['a token by its look', ['git', 'clone', `ghp_${'a1B2'.repeat(9)}`], 'git clone [redacted]'],
  [
    'a header',
    ['curl', '-H', 'Authorization: Bearer abcdefghijklmnop'],
    'curl -H Authorization: Bearer [redacted]',
  ],
  ['a password in a URL', ['psql', 'postgres://me:hunter22@db/x'], 'psql postgres://[redacted]@db/x'],
  ['an empty argument', ['x', '', 'y'], 'x  y'],
];

describe('commandLine', () => {
  for (const [what, args, line] of TABLE) it(`shows ${what}`, () => assert.equal(shown(...args), line));

  it('shows the name in brackets where there are no arguments', () => {
    assert.equal(shown(), '[name]');
  });

  it('cuts what is too long, and never in the middle of a character', () => {
    const line = shown('x', '\u{1f600}'.repeat(4000));
    assert.ok(line.length <= 4096 && line.endsWith('…') && line.isWellFormed());
  });
});
