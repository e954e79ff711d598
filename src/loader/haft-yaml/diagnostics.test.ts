// Owns: every diagnostic of the keys and values of haft.yaml, each with its exact place and what it tells to type instead.
// Refuses: what rules and examples say together; rule-diagnostics.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DiagnosticCase, itTells, policyTexts } from './diagnostics-for-tests.ts';

const CASES: readonly DiagnosticCase[] = [
  // The file
  { code: 'file.too_large', at: [1, 1], file: `version: 1\n#${'x'.repeat(1024 * 1024)}`, says: '1048576' },
  {
    code: 'file.encoding',
    at: [2, 4],
    file: Buffer.from([...Buffer.from('version: 1\n# \ufffd'), 0xff, 0x0a]),
    hint: 'UTF-8',
  },

  // YAML
  { code: 'yaml.syntax', at: [3, 1], lines: ['network: [a'], says: 'end with a ]' },
  { code: 'yaml.syntax', at: [2, 8], lines: ['tools: @x'], hint: "'@x'", also: [] },
  {
    code: 'yaml.escape',
    at: [3, 13],
    lines: ['shell_allow:', '  - "^cargo(\\s|$)"'],
    says: 'single quotes',
    hint: "- '^cargo(\\s|$)'",
  },
  {
    code: 'yaml.escape',
    at: [2, 22],
    lines: ['shell_allow: ["^npm (\\d|\\s)", "^rg"]'],
    hint: 'shell_allow: [\'^npm (\\d|\\s)\', "^rg"]',
  },
  {
    code: 'yaml.tab',
    at: [3, 1],
    lines: ['git:', '\tallow_push: true'],
    says: 'spaces',
    hint: '  allow_push: true',
  },
  {
    code: 'yaml.duplicate_key',
    at: [4, 3],
    lines: ['undo:', '  max_bytes: 1', '  max_bytes: 2'],
    says: 'line 3',
  },
  { code: 'yaml.multiple_documents', at: [2, 1], lines: ['---', 'version: 1'], hint: '---' },
  {
    code: 'yaml.alias',
    at: [4, 13],
    lines: ['paths:', '  rules:', '    - path: **/*.env # secrets', '      read: deny'],
    hint: "'**/*.env'",
  },
  {
    code: 'yaml.alias',
    at: [3, 21],
    lines: ['network:', '  allowed_domains: [*.example.org]'],
    hint: "'*.example.org'",
  },
  { code: 'yaml.tag', at: [2, 10], lines: ['sandbox: !secret x'], hint: "'!secret'", also: ['value.choice'] },
  { code: 'yaml.tag', at: [2, 19], lines: ['sandbox: !!binary aGk='] },
  {
    code: 'yaml.too_much',
    at: [2, 18],
    lines: [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((key, at) => `${key}: &${key} [${Array(9).fill(`*${'abcdefg'[at]}`)}]`),
    ],
    says: 'aliases',
  },
  { code: 'key.type', at: [2, 3], lines: ['? [a]', ': 1'] },

  // Keys and types
  { code: 'key.unknown', at: [2, 1], lines: ['netwrok: {}'], hint: 'network' },
  { code: 'key.unknown', at: [2, 1], lines: ['allow_push: true'], hint: 'it belongs to git' },
  {
    code: 'key.unknown',
    at: [3, 3],
    lines: ['git:', '  allow_psuh: true'],
    hint: 'allow_push',
    says: 'git has no key',
  },
  { code: 'key.unknown', at: [2, 1], lines: ['__proto__: {}'] },
  { code: 'key.missing', at: [1, 1], file: '# nothing yet\n', says: 'version', hint: 'version: 1' },
  { code: 'key.missing', at: [1, 1], file: '', hint: 'version: 1' },
  { code: 'key.missing', at: [4, 7], lines: ['tools:', '  rules:', '    - tool: curl'], says: 'decision' },
  {
    code: 'key.missing',
    at: [4, 7],
    lines: ['paths:', '  rules:', '    - path: secrets'],
    says: 'read or write',
  },
  { code: 'value.version', at: [1, 10], file: 'version: 2\n', hint: 'version: 1' },
  { code: 'value.version', at: [1, 10], file: 'version: "1"\n', says: 'text "1"' },
  { code: 'value.type', at: [2, 8], lines: ['tools: 7'], says: 'expected a map, found number 7' },
  { code: 'value.type', at: [1, 1], file: '- a\n', says: 'expected a map, found a list' },
  {
    code: 'value.type',
    at: [3, 15],
    lines: ['git:', '  allow_push: yes'],
    says: 'true or false',
    hint: 'true',
  },
  { code: 'value.type', at: [2, 14], lines: ['shell_allow: ^cargo'], says: 'a list', hint: '[^cargo]' },
  { code: 'value.type', at: [3, 10], lines: ['budgets:', '  calls: "10"'], hint: 'without quotes: 10' },
  { code: 'value.type', at: [2, 7], lines: ['packs:'], says: 'found nothing', hint: 'remove the key' },
  {
    code: 'value.choice',
    at: [3, 12],
    lines: ['tools:', '  default: dney'],
    says: 'allow, ask or deny',
    hint: 'deny',
  },
  { code: 'value.range', at: [3, 15], lines: ['limits:', '  timeout_ms: -1'], says: 'a whole number from 1' },
  { code: 'value.range', at: [3, 14], lines: ['undo:', '  max_bytes: 1.5'] },
  { code: 'value.range', at: [3, 10], lines: ['budgets:', '  bytes: 9007199254740993'] },
  { code: 'value.text', at: [3, 13], lines: ['ast:', "  language: ''"], says: 'empty' },
  { code: 'value.json', at: [2, 13], lines: ['packs: [{a: .nan}]'], says: 'NaN' },
  { code: 'yaml.merge', at: [3, 3], lines: ['tools:', '  <<: {}'], hint: 'alias' },

  // Texts with a meaning
  {
    code: 'glob.invalid',
    at: [4, 13],
    lines: ['paths:', '  rules:', "    - path: 'src/{a'", '      read: deny'],
    says: 'brace',
  },
  {
    code: 'glob.invalid',
    at: [4, 13],
    lines: ['paths:', '  rules:', '    - path: ../x/**', '      read: deny'],
    hint: 'extra_roots',
  },
  {
    code: 'glob.invalid',
    at: [4, 13],
    lines: ['paths:', '  rules:', "    - path: 'C:\\x\\y'", '      read: deny'],
    hint: 'C:/x/y',
  },
  {
    code: 'glob.invalid',
    at: [4, 13],
    lines: ['tools:', '  rules:', '    - tool: File_Read', '      decision: deny'],
    hint: 'file_read',
  },
  {
    code: 'pattern.invalid',
    at: [3, 5],
    lines: ['shell_allow:', "  - '^cargo(x'"],
    says: 'missing closing )',
  },
  { code: 'pattern.invalid', at: [3, 5], lines: ['shell_allow:', "  - '^rm (?!-rf)'"], hint: 'look-around' },
  { code: 'pattern.control', at: [3, 5], lines: ['shell_allow:', '  - "^cargo\\b"'], hint: 'single quotes' },
  {
    code: 'pattern.unanchored',
    at: [3, 5],
    lines: ['shell_allow:', '  - cargo test'],
    hint: "'^cargo test'",
    severity: 'warning',
  },
  {
    code: 'domain.invalid',
    at: [3, 21],
    lines: ['network:', '  allowed_domains: ["https://crates.io/x"]'],
    hint: 'crates.io',
  },
  {
    code: 'domain.invalid',
    at: [3, 21],
    lines: ['network:', '  allowed_domains: ["api.*.org"]'],
    says: '*.example.org',
  },
  {
    code: 'domain.invalid',
    at: [4, 15],
    lines: ['network:', '  allowed_domains:', '    - domain: crates.io:0'],
    says: 'not a port',
  },

  { code: 'image.invalid', at: [3, 12], lines: ['runs:', '  images: ["a b"]'], says: 'a name' },
  { code: 'image.invalid', at: [3, 12], lines: ['runs:', '  images: ["a@sha256:12"]'], says: '64 digits' },
  {
    code: 'image.unpinned',
    at: [3, 29],
    lines: ['runs:', '  images: [{name: a, image: b:1}]'],
    hint: 'name@sha256:…',
  },
  {
    code: 'image.unpinned',
    at: [4, 22],
    lines: ['runs:', '  slurm:', '    images: [{image: b:1, folder: /x}]'],
    says: 'nodes',
  },
  { code: 'value.choice', at: [3, 12], lines: ['runs:', '  backend: dokcer'], hint: 'docker' },
  {
    code: 'value.text',
    at: [4, 18],
    lines: ['runs:', '  slurm:', '    partitions: ["a b"]'],
    says: 'a word',
  },
  {
    code: 'value.text',
    at: [4, 13],
    lines: ['runs:', '  docker:', '    socket: docker.sock'],
    says: 'absolute',
  },

  // The machine
  { code: 'root.missing', at: [3, 17], lines: ['paths:', '  extra_roots: [../no-such-folder]'] },
  { code: 'root.not_directory', at: [3, 17], lines: ['paths:', '  extra_roots: [../beside.txt]'] },
  { code: 'root.contains_workspace', at: [3, 17], lines: ['paths:', '  extra_roots: [..]'] },
  {
    code: 'root.inside_workspace',
    at: [4, 7],
    lines: ['paths:', '  extra_roots:', '    - src'],
    hint: 'remove',
  },
];

const load = policyTexts();

describe('loadHaftYaml', () => {
  itTells(CASES, load);

  it('tells everything that is wrong at once, in the order of the file', async () => {
    const found = await load(
      [
        'version: 2',
        'netwrok: {}',
        'shell_allow:',
        '  - "^a(\\s|$)"',
        "  - '^b('",
        'limits: {timeout_ms: -1}',
        '',
      ].join('\n'),
    );
    assert.deepEqual(
      found.map(({ code, line }) => `${line} ${code}`),
      ['1 value.version', '2 key.unknown', '4 yaml.escape', '5 pattern.invalid', '6 value.range'],
    );
  });

  it('counts what it does not show after a hundred problems', async () => {
    const keys = Array.from({ length: 300 }, (_, at) => `zz${at}: 1`);
    const found = await load(`version: 1\n${keys.join('\n')}\n`);
    assert.equal(found.length, 101);
    assert.equal(found[100]?.code, 'file.more');
    assert.match(found[100]?.message ?? '', /^200 more/);
  });

  it('takes a byte order mark, CRLF and aliases', async () => {
    const text =
      '\ufeffversion: 1\r\nundo:\r\n  max_bytes: 1\r\npaths:\r\n  rules:\r\n    - &r {path: a, read: deny}\r\n    - *r\r\n';
    assert.deepEqual(await load(text), []);
  });
});
