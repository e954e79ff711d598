// Owns: manifests that the rules of YAML, keys, identity and limits take and refuse.
// Refuses: checking them.
import type { Change, Rules } from './rule-for-tests.ts';

const python = (more: string) => `{ kind: python, ${more} }`;

const REQUIRED = [
  'id',
  'version',
  'deterministic',
  'timeoutMs',
  'limits',
  'inputSchema',
  'outputSchema',
  'execution',
];

export const KEY_RULES: Rules = {
  'the file is a map of YAML': {
    code: 'value.type',
    takes: [
      {},
      '\ufeff# a mark and a comment\nid: a.b\nversion: 1.0.0\ndeterministic: false\ntimeoutMs: 1\nlimits: {maxInputBytes: 1, maxOutputBytes: 1}\ninputSchema: {}\noutputSchema: {}\nexecution: {kind: cli, cmd: [x]}',
    ],
    refuses: [
      { text: '¦- a\n', says: 'expected a map, found a list' },
      { text: 'id: ¦@x\n', code: 'yaml.syntax', says: '@', hint: "'@x'" },
    ],
  },
  'YAML without tabs, tags, merge keys and doubled keys': {
    code: 'yaml.duplicate_key',
    takes: [
      { name: '"a\\tb"' },
      { description: '|\n  one\n  two' },
      { limits: '&l { maxInputBytes: 1, maxOutputBytes: 1 }', actions: '{ go: { limits: *l } }' },
    ],
    refuses: [
      { text: { name: 'a\n¦name: b' }, says: 'already on line 9', hint: 'keep one' },
      {
        text: { limits: '\n¦\tmaxInputBytes: 1' },
        code: 'yaml.tab',
        says: 'spaces',
        hint: '  maxInputBytes',
      },
      { text: { name: '¦!secret x' }, code: 'yaml.tag', says: 'tag', hint: "'!secret'" },
      { text: { name: '¦*nobody' }, code: 'yaml.alias', says: 'alias', hint: "'*nobody'" },
      {
        text: { limits: '\n  maxInputBytes: 1\n  maxOutputBytes: 1\n  ¦<<: {}' },
        code: 'yaml.merge',
        says: 'Merge',
      },
      {
        text: { name: 'x\n¦---\na: 1' },
        code: 'yaml.multiple_documents',
        says: 'more than one',
        hint: '---',
      },
    ],
  },
  'required keys': {
    code: 'key.missing',
    takes: [{}],
    refuses: [
      ...REQUIRED.map((key) => ({ text: `¦${without(key)}`, says: `needs the key ${key}` })),
      { text: { limits: '¦{ maxInputBytes: 1 }' }, says: 'limits needs the key maxOutputBytes' },
      { text: { limits: '¦{ maxOutputBytes: 1 }' }, says: 'limits needs the key maxInputBytes' },
      { text: { execution: '¦{ kind: cli }' }, says: 'execution needs the key cmd' },
      { text: { execution: '¦{ kind: http }' }, says: 'execution needs the key url' },
      { text: { retry: '¦{}' }, says: 'retry needs the key attempts' },
      { text: { health: '¦{}' }, says: 'health needs the key strategy' },
      { text: { credentials: '{ github: ¦{} }' }, says: 'needs env or headers or context' },
    ],
  },
  'no other keys': {
    code: 'key.unknown',
    takes: [
      { metadata: '{ owner: me, links: [https://example.org] }' },
      { name: 'Demo', description: 'd', tags: '[a, b]', idempotent: 'true', mutates: 'false' },
      {
        credentials: '{ github: { env: { GITHUB_TOKEN: token } } }',
        config: '{ type: object }',
        retry: '{ attempts: 2 }',
        idempotent: 'true',
      },
      {
        health: '{ strategy: process }',
        actions: '{ go: {} }',
        deterministic: 'true',
        templating: "{ cacheKey: '{{ input }}' }",
      },
      { execution: python("module: 'run:main', warm: true") },
    ],
    refuses: [
      { text: { '¦tagz': '[a]' }, says: 'has no key "tagz"', hint: 'did you mean tags?' },
      { text: { '¦metadatas': '{}' }, says: 'has no key "metadatas"', hint: 'did you mean metadata?' },
      {
        text: { limits: '{ maxInputBytes: 1, maxOutputBytes: 1, ¦input: 5 }' },
        says: 'limits has no key "input"',
        hint: 'did you mean maxInputBytes?',
      },
      {
        text: { limits: '{ maxInputBytes: 1, maxOutputBytes: 1, ¦timeoutMs: 5 }' },
        says: 'limits has no key "timeoutMs"',
        hint: 'it belongs to the top of the file',
      },
      {
        text: { caps: '{ ¦attempts: 5 }' },
        says: 'caps has no key "attempts"',
        hint: 'it belongs to retry',
      },
      { text: { '¦maxInputBytes': '1' }, says: 'has no key', hint: 'it belongs to limits' },
      { text: { '¦url': 'x' }, says: 'has no key', hint: 'it belongs to execution of kind http' },
      { text: { execution: '{ kind: cli, cmd: [a], ¦shell: true }' }, says: 'execution has no key "shell"' },
      { text: { caps: '{ ¦netwrk: [http] }' }, says: 'caps has no key', hint: 'network' },
      { text: { env: '{ ¦setting: {} }' }, says: 'env has no key' },
      { text: { templating: '{ ¦engin: jinja2 }' }, says: 'templating has no key', hint: 'engine' },
      { text: { '¦__proto__': '{}' }, says: 'has no key "__proto__"' },
    ],
  },
  'keys in camelCase': {
    code: 'key.snake_case',
    takes: [],
    refuses: [
      { text: { timeoutMs: null, '¦timeout_ms': '1' }, says: 'camelCase', hint: 'write timeoutMs' },
      { text: { inputSchema: null, '¦input_schema': '{}' }, says: 'camelCase', hint: 'write inputSchema' },
      {
        text: { limits: '{ ¦max_input_bytes: 1, maxOutputBytes: 1 }' },
        says: 'limits has no key',
        hint: 'write maxInputBytes',
      },
      { text: { templating: "{ ¦cache-key: 'x' }" }, says: 'camelCase', hint: 'write cacheKey' },
    ],
  },
  id: {
    code: 'id.invalid',
    takes: [{ id: 'a.b' }, { id: 'pkg.group_1.tool2' }],
    refuses: [
      { text: { id: '¦tool' }, says: 'two or more segments' },
      { text: { id: '¦Pkg.Tool' }, says: 'lower-case', hint: 'pkg.tool' },
      { text: { id: '¦pkg.my-tool' }, says: 'segments', hint: 'pkg.my_tool' },
      { text: { id: '¦pkg..tool' }, says: 'segments' },
      { text: { id: '¦pkg.1tool' }, says: 'begins with a letter' },
      { text: { id: '¦17' }, says: 'expected text, found number 17' },
      { text: { id: '¦' }, says: 'found nothing', hint: 'give it a value' },
      { text: { id: `¦a.${'b'.repeat(200)}` }, says: 'longer than 200' },
    ],
  },
  version: {
    code: 'version.invalid',
    takes: [{ version: '0.0.1' }, { version: '1.2.3-rc.1+build.5' }, { version: '"10.20.30"' }],
    refuses: [
      { text: { version: '¦1.0' }, says: 'expected text, found number 1', hint: 'such as 1.0.0' },
      { text: { version: '¦2024.1.0.0' }, says: 'SemVer' },
      { text: { version: "¦'1.2'" }, says: 'SemVer', hint: '1.2.0' },
      { text: { version: '¦v1.2.3' }, says: 'SemVer', hint: '1.2.3' },
      { text: { version: '¦1.02.3' }, says: 'SemVer', hint: '1.2.3' },
      { text: { version: '¦1.2.3-01' }, says: 'SemVer' },
      { text: { version: '¦latest' }, says: 'SemVer' },
    ],
  },
  deterministic: {
    code: 'deterministic.invalid',
    takes: [{ deterministic: 'false' }],
    refuses: [
      { text: { deterministic: '¦yes' }, says: 'expected true or false', hint: 'true' },
      { text: { deterministic: '¦1' }, says: 'found number 1', hint: 'true' },
    ],
  },
  timeoutMs: {
    code: 'timeout.invalid',
    takes: [{ timeoutMs: '1' }, { timeoutMs: '2147483647' }],
    refuses: [
      { text: { timeoutMs: '¦true' }, says: 'found boolean true' },
      { text: { timeoutMs: '¦0' }, says: 'a whole number from 1' },
      { text: { timeoutMs: '¦-5' }, says: 'found -5' },
      { text: { timeoutMs: '¦1.5' }, says: 'found 1.5' },
      { text: { timeoutMs: '¦"1000"' }, says: 'text "1000"', hint: 'without quotes: 1000' },
      { text: { timeoutMs: '¦.inf' }, says: 'found Infinity' },
      { text: { timeoutMs: '¦2147483648' }, says: 'to 2147483647' },
    ],
  },
  limits: {
    code: 'limits.invalid',
    takes: [{ limits: '{ maxInputBytes: 1, maxOutputBytes: 9007199254740991 }' }],
    refuses: [
      {
        text: { limits: '{ maxInputBytes: ¦0, maxOutputBytes: 1 }' },
        says: 'limits.maxInputBytes: expected a whole number',
      },
      { text: { limits: '{ maxInputBytes: 1, maxOutputBytes: ¦true }' }, says: 'found boolean true' },
      { text: { limits: '{ maxInputBytes: 1, maxOutputBytes: ¦9007199254740993 }' }, says: 'whole number' },
      { text: { limits: '¦7' }, code: 'value.type', says: 'expected a map, found number 7' },
    ],
  },
};

function without(key: string): string {
  const keys: Change = {
    id: 'a.b',
    version: '1.0.0',
    deterministic: 'true',
    timeoutMs: '1',
    limits: '{ maxInputBytes: 1, maxOutputBytes: 1 }',
    inputSchema: '{}',
    outputSchema: '{}',
    execution: '{ kind: cli, cmd: [x] }',
  };
  return Object.entries(keys)
    .filter(([name]) => name !== key)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
}
