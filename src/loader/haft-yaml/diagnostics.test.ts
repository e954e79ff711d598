// Owns: every diagnostic of haft.yaml, each with its exact place and what it tells to type instead.
// Refuses: wording beyond the words that help.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { loadHaftYaml } from './load-haft-yaml.ts';

interface Case {
  readonly code: string;
  readonly at: readonly [line: number, column: number];
  /** The lines after `version: 1`, or the whole file where that is what is wrong. */
  readonly lines?: readonly string[];
  readonly file?: string | Uint8Array;
  readonly says?: string;
  readonly hint?: string;
  readonly severity?: 'warning';
  /** Other codes that the same mistake brings with it. */
  readonly also?: readonly string[];
}

const CASES: readonly Case[] = [
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
    lines: ['git:', '  allow_push: true', '  allow_push: false'],
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

  // Rules
  {
    code: 'rule.unknown',
    at: [3, 11],
    lines: ['validators:', '  - rule: secrets.scann', '    enforcement: blocking'],
    hint: 'secrets.scan',
  },
  {
    code: 'rule.unavailable',
    at: [3, 11],
    lines: ['validators:', '  - rule: lint.must.pass', '    enforcement: blocking'],
    hint: 'warning',
  },
  {
    code: 'rule.unavailable',
    at: [3, 11],
    lines: ['validators:', '  - rule: lint.must.pass', '    enforcement: warning'],
    severity: 'warning',
  },
  {
    code: 'rule.lowered',
    at: [4, 18],
    lines: ['validators:', '  - rule: sec.paths.sandbox', '    enforcement: warning'],
    hint: 'blocking',
  },
  {
    code: 'rule.duplicate',
    at: [5, 11],
    lines: [
      'validators:',
      '  - rule: secrets.scan',
      '    enforcement: blocking',
      '  - rule: secrets.scan',
      '    enforcement: warning',
    ],
    says: 'validators[0]',
  },
  {
    code: 'rule.shadowed',
    at: [6, 17],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: file_*, decision: deny}',
      '    - tool: file_read',
      '      decision: allow',
    ],
    says: 'tools.rules[0] (line 4)',
    severity: 'warning',
  },
  {
    code: 'rule.shadowed',
    at: [5, 43],
    lines: [
      'paths:',
      '  rules:',
      '    - {path: "docs/**", write: ask}',
      '    - {path: docs/a.md, read: ask, write: allow}',
    ],
    severity: 'warning',
  },

  // Examples
  {
    code: 'example.fails',
    at: [7, 16],
    lines: [
      'paths:',
      '  rules:',
      '    - path: secrets',
      '      read: deny',
      '      examples:',
      '        deny: [secrts/key]',
    ],
    says: 'read of "secrts/key" must not be let through, and the default says allow',
  },
  {
    code: 'example.fails',
    at: [7, 17],
    lines: [
      'paths:',
      '  rules:',
      '    - path: secrets',
      '      write: deny',
      '      examples:',
      "        allow: ['write: secrets/x']",
    ],
    says: 'paths.rules[0] says deny',
  },
  {
    code: 'example.fails',
    at: [5, 14],
    lines: ['shell_allow:', "  - pattern: '^cargo'", '    examples:', '      deny: [cargo-evil]'].toSpliced(
      3,
      0,
    ),
    says: '"cargo-evil" must not be let through, and shell_allow[0] says allow',
  },
  {
    code: 'example.fails',
    at: [6, 17],
    lines: [
      'network:',
      '  allowed_domains:',
      '    - domain: crates.io',
      '      examples:',
      '        allow: ["https://crates.io:8443/x"]',
    ],
    says: 'the default says deny',
  },
  {
    code: 'example.fails',
    at: [6, 22],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: curl, decision: ask, examples: {',
      '        allow: [file_read],',
      '        deny: [curl, wget]}}',
    ],
    says: '"wget" must not be let through',
  },
  {
    code: 'example.fails',
    at: [5, 47],
    lines: [
      'paths:',
      '  rules:',
      '    - {path: a, read: deny}',
      '    - {path: b, read: deny, examples: {deny: [a/x]}}',
    ],
    says: 'is not matched by this rule, but by paths.rules[0]',
  },
  {
    code: 'example.fails',
    at: [4, 68],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: curl, paths: [src], decision: deny, examples: {deny: [curl]}}',
    ],
    says: 'a path where the rule has paths',
  },
];

const folder = mkdtempSync(join(tmpdir(), 'haft-diagnostics-'));
const workspace = join(folder, 'workspace');
mkdirSync(join(workspace, 'src'), { recursive: true });
writeFileSync(join(folder, 'beside.txt'), '');
after(() => rmSync(folder, { recursive: true }));

async function load(file: string | Uint8Array): Promise<readonly Diagnostic[]> {
  writeFileSync(join(workspace, 'haft.yaml'), file);
  const availableRules = ['sec.paths.sandbox', 'secrets.scan'];
  const { value, diagnostics } = await loadHaftYaml({ workspace, availableRules });
  const failed = diagnostics.some(({ severity }) => severity === 'error');
  assert.equal(value === undefined, failed, 'a policy with errors has no value');
  return diagnostics;
}

const show = (found: readonly Diagnostic[]) =>
  found
    .map(({ code, line, column, message, hint }) => `${line}:${column} ${code} ${message} [${hint}]`)
    .join('\n');

describe('loadHaftYaml', () => {
  for (const { code, at, lines, file, says, hint, severity = 'error', also = [] } of CASES) {
    const text = file ?? `version: 1\n${(lines ?? []).join('\n')}\n`;
    it(`tells ${code} of ${JSON.stringify(Buffer.from(text).toString().slice(0, 70))}`, async () => {
      const found = await load(text);
      const [line, column] = at;
      const one = found.find((d) => d.code === code && d.line === line && d.column === column);
      assert.ok(one, show(found));
      assert.equal(one.file, 'haft.yaml');
      assert.equal(one.severity, severity);
      if (says) assert.ok(one.message.includes(says), show(found));
      if (hint) assert.ok(one.hint?.includes(hint), show(found));
      const others = found.filter((d) => d.code !== code && !also.includes(d.code));
      assert.deepEqual(others, [], show(found));
    });
  }

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
      '\ufeffversion: 1\r\ngit:\r\n  allow_push: true\r\npaths:\r\n  rules:\r\n    - &r {path: a, read: deny}\r\n    - *r\r\n';
    assert.deepEqual(await load(text), []);
  });

  it('refuses a file that is a link to where tools may write, and follows one that is not', async () => {
    const linked = join(folder, 'linked');
    mkdirSync(linked);
    writeFileSync(join(linked, 'policy.yaml'), 'version: 1\n');
    symlinkSync('policy.yaml', join(linked, 'haft.yaml'));
    const inside = await loadHaftYaml({ workspace: linked });
    assert.equal(inside.diagnostics[0]?.code, 'file.link');
    assert.equal(inside.value, undefined);
    rmSync(join(linked, 'haft.yaml'));
    writeFileSync(join(folder, 'shared.yaml'), 'version: 1\n');
    symlinkSync('../shared.yaml', join(linked, 'haft.yaml'));
    assert.deepEqual((await loadHaftYaml({ workspace: linked })).diagnostics, []);
    mkdirSync(join(folder, 'granted'));
    writeFileSync(join(folder, 'granted', 'ci.yaml'), 'version: 1\npaths: {extra_roots: [../granted]}\n');
    const granted = await loadHaftYaml({ workspace: linked, file: join(folder, 'granted', 'ci.yaml') });
    assert.equal(granted.diagnostics[0]?.code, 'file.link');
  });

  it('refuses a folder in place of the file, and a named file that is not there', async () => {
    const odd = join(folder, 'odd');
    mkdirSync(join(odd, 'haft.yaml'), { recursive: true });
    assert.equal((await loadHaftYaml({ workspace: odd })).diagnostics[0]?.code, 'file.not_regular');
    const missing = await loadHaftYaml({ workspace: odd, file: 'ci.yaml' });
    assert.equal(missing.diagnostics[0]?.code, 'file.missing');
    assert.equal(missing.diagnostics[0]?.file, 'ci.yaml');
  });
});
