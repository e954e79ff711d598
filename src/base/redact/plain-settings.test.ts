// Owns: which plain settings are taken for secrets in what a person judges, and which lines of code stay readable.
// Refuses: formats and notations that are found everywhere; secret-formats.test.ts has those.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from './create-redactor.ts';

const SETTINGS: readonly (readonly [text: string, shown: string])[] = [
  ['password=hunter2secret', 'password=[redacted]'],
  ['password: abc123', 'password: [redacted]'],
  ['+  password: abc123 # of the database', '+  password: [redacted] # of the database'],
  ['-token = "tok12345678901"', '-token = "[redacted]"'],
  ["+const apiKey = 'k3y-of-mine';", "+const apiKey = '[redacted]';"],
  ['a: 1\ndb_pass: swordfish\nb: 2', 'a: 1\ndb_pass: [redacted]\nb: 2'],
  ['api_key = 0123abcd', 'api_key = [redacted]'],
  ['passwd: 123456', 'passwd: [redacted]'],
  ['bearer: abc-def', 'bearer: [redacted]'],
  ['- secret: s3cr3t', '- secret: [redacted]'],
  ['DB_PASS=swordfish make', 'DB_PASS=[redacted] make'],
  ['psql "host=h password=abc123"', 'psql "host=h password=[redacted]"'],
  ["curl -H 'x-bearer: abcdef' https://h/", "curl -H 'x-bearer: [redacted]' https://h/"],
  ['password: abc123\r\nuser: me\r\n', 'password: [redacted]\r\nuser: me\r\n'],
];

const CODE = [
  'password = getPassword()',
  '+  password: string;',
  '+  token: string',
  '    token: str = None',
  'const token = parser.next();',
  'token = parser.next',
  'let secret = nextSecret',
  '    password=password,',
  '    token=token',
  'connect(user=u, password=pw1)',
  'password = password1',
  '  token: nextToken,',
  '  secret,',
  'api_key: ${API_KEY}',
  'api_key: <your key>',
  'password: "********"',
  "password: 'string'",
  'token = os.environ["TOKEN"]',
  'password: Annotated[str, Field()]',
  'password: {{ vault.password }}',
  'pass: 1042',
  'if (password === other) return token;',
  'first_pass = run(second_pass)',
  'max_tokens: 4096',
  'type: password',
  'password: changeme',
  'token: Token',
  'secret: Option<String>,',
  'label: "Enter your password"',
  'password: "Enter your password"',
];

describe('findPlainSettings', () => {
  const { text, value } = createRedactor({ guess: 'settings' });
  for (const [line, shown] of SETTINGS)
    it(`hides the value of ${line}`, () => assert.equal(text(line), shown));
  for (const line of CODE) it(`leaves ${line}`, () => assert.equal(text(line), line));

  it('hides members by names that elsewhere are too ordinary', () => {
    const shown = value({ env: { DB_PASS: 'x1', BYPASS: 'y' }, headers: { 'x-bearer': 'z' } });
    assert.deepEqual(shown, {
      env: { DB_PASS: '[redacted]', BYPASS: 'y' },
      headers: { 'x-bearer': '[redacted]' },
    });
    assert.deepEqual(createRedactor().value({ render_pass: 'one' }), { render_pass: 'one' });
  });

  it('takes time that grows with the text alone', () => {
    for (const piece of ['password=', 'password: ', 'a', ' ', '"', '-', 'x-a: ', '\n', 'token = "'])
      assert.ok(text(piece.repeat(20_000)).length > 0);
  });
});
