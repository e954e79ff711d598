// Owns: one made-up example for each row of the table of formats, and for each notation of an assignment.
// Refuses: keys that ever opened anything; they are put together here so that no scanner takes them for one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor } from './create-redactor.ts';
import { SECRET_FORMATS } from './secret-formats.ts';

const alnum = (n: number) => 'a1B2c3D4e5'.repeat(Math.ceil(n / 10)).slice(0, n);
const hex = (n: number) => '0a1b2c3d4e5f'.repeat(Math.ceil(n / 12)).slice(0, n);

const EXAMPLES: { readonly [format: string]: readonly string[] } = {
  'AWS access key': [`AKIA${'ABCDEFGH23456723'}`, `ASIA${'ABCDEFGH23456723'}`],
  'GitHub token': [`ghp_${alnum(36)}`, `ghs_${alnum(36)}`],
  'GitHub fine-grained token': [`github_pat_${alnum(22)}_${alnum(59)}`],
  'GitLab token': [`glpat-${alnum(20)}`, `glrt-${alnum(20)}`],
  'Slack token': [`xoxb-123456789012-${alnum(24)}`, `xapp-1-A123-${alnum(20)}`],
  'Slack webhook': [`https://hooks.slack.com/services/T0000/B0000/${alnum(24)}`],
  'model provider key': [`sk-ant-api03-${alnum(80)}`, `sk-proj-${alnum(60)}`, `sk-${alnum(48)}`],
  'xAI, Groq, Perplexity, Cerebras key': [`xai-${alnum(60)}`, `gsk_${alnum(52)}`],
  'Stripe key': [`sk_live_${alnum(24)}`, `rk_test_${alnum(24)}`, `whsec_${alnum(32)}`],
  'Google API key': [`AIza${alnum(35)}`],
  'Google OAuth token': [`ya29.${alnum(60)}`, `GOCSPX-${alnum(28)}`],
  'JSON Web Token': [`eyJ${alnum(20)}.eyJ${alnum(40)}.${alnum(43)}`],
  'npm token': [`npm_${alnum(36)}`],
  'PyPI token': [`pypi-${alnum(100)}`],
  'crates.io token': [`cio${alnum(32)}`],
  'RubyGems key': [`rubygems_${hex(48)}`],
  'Docker token': [`dckr_pat_${alnum(27)}`],
  'Hugging Face token': [`hf_${alnum(34)}`],
  'Replicate token': [`r8_${alnum(37)}`],
  'DigitalOcean token': [`dop_v1_${hex(64)}`],
  'SendGrid key': [`SG.${alnum(22)}.${alnum(43)}`],
  'Twilio key': [`SK${hex(32)}`],
  'Telegram bot token': [`1234567890:AA${alnum(33)}`],
  'Shopify token': [`shpat_${hex(32)}`],
  'Databricks token': [`dapi${hex(32)}`],
  'Vault token': [`hvs.${alnum(90)}`],
  'Terraform Cloud token': [`${alnum(14)}.atlasv1.${alnum(67)}`],
  'Grafana token': [`glsa_${alnum(32)}_${hex(8)}`],
  'Linear, Notion, Supabase, Postman key': [`lin_api_${alnum(40)}`, `sbp_${hex(40)}`],
  'Doppler token': [`dp.st.dev.${alnum(44)}`],
  'age key': [`AGE-SECRET-KEY-1${'ABCDEFGHJK'.repeat(6).slice(0, 58)}`],
  'Azure key': [`AccountKey=${alnum(86)}==`],
  'password in a URL': ['postgres://app:pa%24s-word@db.example.org/x', 'redis://:pass1234@cache:6379'],
  'credentials of an HTTP scheme': [
    `Bearer ${alnum(32)}`,
    `basic ${Buffer.from('user:password').toString('base64')}`,
  ],
};

const NOTATIONS: readonly (readonly [text: string, shown: string])[] = [
  ['DB_PASSWORD=hunter2 npm start', 'DB_PASSWORD=[redacted] npm start'],
  [`export API_KEY="a b c"`, 'export API_KEY="[redacted]"'],
  ['mysql --password=hunter2 --user app', 'mysql --password=[redacted] --user app'],
  ['tool --api-key abc123 -v', 'tool --api-key [redacted] -v'],
  ['GET /x?page=1&access_token=abc&sig=d%2Fe#f', 'GET /x?page=1&access_token=[redacted]&sig=[redacted]#f'],
  ['{"client_secret": "a\\"b", "id": "c"}', '{"client_secret": "[redacted]", "id": "c"}'],
  ['"{\\"password\\":\\"abc\\",\\"id\\":\\"c\\"}"', '"{\\"password\\":\\"[redacted]\\",\\"id\\":\\"c\\"}"'],
  ['> Authorization: Digest a=b, c=d\r\n> Accept: x', '> Authorization: [redacted]\r\n> Accept: x'],
  ['Set-Cookie: sid=abc; Path=/', 'Set-Cookie: [redacted]'],
  ['x-api-key: abc', 'x-api-key: [redacted]'],
];

describe('SECRET_FORMATS', () => {
  const { text } = createRedactor();
  for (const { name } of SECRET_FORMATS) {
    it(`finds a ${name}, alone and in a sentence`, () => {
      for (const example of EXAMPLES[name] ?? []) {
        for (const line of [example, `use ${example}, please`, `{"x":"${example}"}`]) {
          const shown = text(line);
          assert.match(shown, /\[redacted\]/, line);
          assert.ok(!shown.includes(example.slice(-12)) || name === 'password in a URL', shown);
        }
      }
      assert.ok(EXAMPLES[name], `no example for ${name}`);
    });
  }
  it('keeps the host of a URL whose password it cuts', () => {
    assert.equal(
      text('see postgres://app:hunter2@db.example.org/x'),
      'see postgres://[redacted]@db.example.org/x',
    );
  });
});

describe('findAssignments', () => {
  const { text } = createRedactor();
  for (const [line, shown] of NOTATIONS)
    it(`cuts the value out of ${line}`, () => assert.equal(text(line), shown));
});

describe('findPrivateKeys', () => {
  const { text } = createRedactor();
  const body = `${alnum(64)}\n${alnum(64)}\n${alnum(20)}==\n`;
  const key = `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${body}-----END RSA PRIVATE KEY-----`;

  it('cuts a whole block, and what is around it stays', () => {
    assert.equal(text(`before\n${key}\nafter. More`), 'before\n[redacted]\nafter. More');
  });
  it('cuts a block that was put on one line, and one that was cut off', () => {
    assert.equal(text(JSON.stringify({ k: key })), '{"k":"[redacted]"}');
    assert.equal(text(`x ${key.slice(0, 150)}`), 'x [redacted]');
  });
  it('takes a mere mention for what it is', () => {
    const mention = 'A file with -----BEGIN PRIVATE KEY----- is one. The rest stays.';
    assert.equal(text(mention), 'A file with [redacted] is one. The rest stays.');
  });
});

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
