// Owns: the cases of rules.test.ts: for each rule manifests that it takes, and manifests that it refuses.
// Refuses: checking them.

type Change = { readonly [key: string]: string | null };

export interface Refused {
  /** A whole file, or what is different from the smallest one; `¦` marks the place that is told. */
  readonly text: string | Change;
  readonly says: string;
  readonly hint?: string;
  /** Where it is another one than the rule's. */
  readonly code?: string;
  /** It is told, and the tool is loaded all the same. */
  readonly warning?: true;
}

export interface Rule {
  readonly code: string;
  readonly takes: readonly (string | Change)[];
  readonly refuses: readonly Refused[];
}

const http = (more = '') => `{ kind: http, url: 'https://example.org/x', method: POST${more} }`;
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

export const RULES: { readonly [name: string]: Rule } = {
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
      { name: 'Demo', description: 'd', tags: '[a, b]', idempotent: 'true', mutates: 'false' },
      {
        credentials: '{ github: { env: { GITHUB_TOKEN: token } } }',
        config: '{ type: object }',
        retry: '{ attempts: 2 }',
      },
      { health: '{ strategy: process }', actions: '{ go: {} }', templating: "{ cacheKey: '{{ input }}' }" },
      { execution: python("module: 'run:main', warm: true") },
    ],
    refuses: [
      { text: { '¦tagz': '[a]' }, says: 'has no key "tagz"', hint: 'did you mean tags?' },
      { text: { '¦metadata': '{}' }, says: 'has no key "metadata"' },
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
      { text: { version: '¦1.0' }, says: 'expected text, found number 1' },
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
  'execution.kind': {
    code: 'execution.kind',
    takes: [
      { execution: '{ kind: cli, cmd: [x] }' },
      { execution: http() },
      { execution: '{ kind: php, php: run.php }' },
      { execution: '{ kind: node, node: run.mjs }' },
      { execution: python('script: run.py') },
    ],
    refuses: [
      { text: { execution: '{ kind: ¦docker, image: x }' }, says: 'expected python, node, php, cli or http' },
      {
        text: { execution: '{ kind: ¦pythn, script: run.py }' },
        says: 'found "pythn"',
        hint: 'did you mean python?',
      },
      { text: { execution: '¦{}' }, says: 'needs the key kind' },
      { text: { execution: '{ kind: ¦1 }' }, says: 'found number 1' },
      { text: { execution: '¦echo' }, code: 'value.type', says: 'expected a map' },
    ],
  },
  'one thing that is run': {
    code: 'execution.entry',
    takes: [
      { execution: '{ kind: node, module: ./run.mjs }' },
      { execution: '{ kind: php, script: run.php }' },
    ],
    refuses: [
      { text: { execution: '¦{ kind: python }' }, says: 'of kind python needs module or script' },
      { text: { execution: '¦{ kind: node }' }, says: 'needs script or node or module' },
      { text: { execution: '¦{ kind: php }' }, says: 'needs php or script' },
      {
        text: { execution: '¦{ kind: php, php: run.php, script: run.php }' },
        says: 'has php and script',
        hint: 'keep one',
      },
      {
        text: { execution: "¦{ kind: python, module: 'run:main', script: run.py }" },
        says: 'has module and script',
      },
    ],
  },
  'python module': {
    code: 'execution.module',
    takes: [
      { execution: python("module: 'pkg.mod:run'") },
      { execution: python("module: 'run:Class.method'") },
    ],
    refuses: [
      { text: { execution: python('module: ¦pkg.mod') }, says: 'module:callable', hint: 'pkg.mod:run' },
      { text: { execution: python('module: ¦run.py') }, says: 'module:callable', hint: 'script: run.py' },
      { text: { execution: python("module: ¦'a b:c'") }, says: 'module:callable' },
      { text: { execution: python("module: ¦':run'") }, says: 'module:callable' },
      { text: { execution: python('module: ¦7') }, says: 'expected text' },
    ],
  },
  'node module': {
    code: 'execution.module',
    takes: [
      { execution: "{ kind: node, module: './run.mjs:main' }" },
      { execution: "{ kind: node, module: '@scope/pkg/sub' }" },
    ],
    refuses: [
      { text: { execution: "{ kind: node, module: ¦'node:fs' }" }, says: 'Node itself' },
      { text: { execution: "{ kind: node, module: ¦'https://example.org/x.mjs' }" }, says: 'URL' },
      { text: { execution: "{ kind: node, module: ¦'./run.mjs:a b' }" }, says: 'name of an export' },
    ],
  },
  scripts: {
    code: 'execution.script',
    takes: [{ execution: python('script: ./bin/../run.py') }],
    refuses: [
      { text: { execution: python("script: ¦''") }, says: 'empty' },
      { text: { execution: python('script: ¦7') }, says: 'expected text', hint: "'7'" },
      { text: { execution: python('script: ¦"import os\\nprint(1)"') }, says: 'not the name of a file' },
      { text: { execution: python("script: ¦'bin\\run.py'") }, says: '/', hint: 'bin/run.py' },
      {
        text: { execution: python('script: ¦../x.py') },
        code: 'path.outside',
        says: "outside of the pack's folder",
      },
      { text: { execution: python('script: ¦/etc/passwd') }, code: 'path.outside', says: 'absolute' },
      { text: { execution: '{ kind: node, module: ¦../x.mjs }' }, code: 'path.outside', says: 'outside' },
      { text: { execution: '{ kind: cli, cmd: [¦../x] }' }, code: 'path.outside', says: 'outside' },
      {
        text: { execution: '{ kind: php, php: ¦bin }' },
        code: 'script.unusable',
        says: 'not a regular file',
      },
      {
        text: { execution: '{ kind: php, php: ¦no.php }' },
        code: 'script.missing',
        says: 'there is no file',
        warning: true,
      },
    ],
  },
  'execution.cmd': {
    code: 'execution.cmd',
    takes: [
      { execution: '{ kind: cli, cmd: [echo, "-n", "a b"] }' },
      { execution: '{ kind: cli, cmd: [./bin/run] }' },
      { execution: '{ kind: cli, cmd: [/usr/bin/env] }' },
    ],
    refuses: [
      {
        text: { execution: '{ kind: cli, cmd: ¦echo hello }' },
        says: 'expected a list',
        hint: '[echo hello]',
      },
      { text: { execution: '{ kind: cli, cmd: ¦[] }' }, says: 'empty' },
      {
        text: { execution: '{ kind: cli, cmd: [echo, ¦1] }' },
        says: 'execution.cmd[1]: expected text',
        hint: "'1'",
      },
      { text: { execution: "{ kind: cli, cmd: [¦''] }" }, says: 'empty' },
      {
        text: { execution: '{ kind: cli, cmd: [¦"./{{ input.x }}"] }', templating: '{}' },
        says: 'cannot be a template',
      },
      { text: { execution: '{ kind: cli, cmd: [¦"a\\0b"] }' }, code: 'value.text', says: 'NUL' },
    ],
  },
  'execution.url': {
    code: 'execution.url',
    takes: [
      { execution: http() },
      { execution: "{ kind: http, url: 'http://localhost:8080/{{ input.a }}' }", templating: '{}' },
      { execution: "{ kind: http, url: '{{ config.base }}/x', method: POST }", templating: '{}' },
    ],
    refuses: [
      {
        text: { execution: '{ kind: http, method: POST, url: ¦example.org }' },
        says: 'cannot be understood',
      },
      {
        text: { execution: "{ kind: http, method: POST, url: ¦'ftp://example.org' }" },
        says: 'only http and https',
      },
      {
        text: { execution: "{ kind: http, method: POST, url: ¦'https://u:p@example.org' }" },
        says: 'user or a password',
      },
      {
        text: { execution: "{ kind: http, method: POST, url: ¦'file:///{{ input.a }}' }", templating: '{}' },
        says: 'must begin with',
      },
      { text: { execution: '{ kind: http, method: POST, url: ¦7 }' }, says: 'expected text' },
    ],
  },
  'method, headers and body': {
    code: 'execution.headers',
    takes: [
      { execution: http(", headers: { X-Api-Version: '2', Accept: '' }") },
      { execution: "{ kind: http, url: 'https://example.org', body: { a: [1, null] } }" },
      { execution: "{ kind: http, url: 'https://example.org', method: PATCH, body: text }" },
    ],
    refuses: [
      {
        text: { execution: http(', headers: { X-Count: ¦2 }') },
        says: 'expected text, found number 2',
        hint: "'2'",
      },
      { text: { execution: http(', headers: ¦[a]') }, says: 'expected a map' },
      { text: { execution: http(", headers: { ¦'a b': x }") }, says: 'not the name of a header' },
      { text: { execution: http(', headers: { ¦Host: x }') }, says: 'the host sets it' },
      { text: { execution: http(', headers: { A: ¦"x\\r\\nB: y" }') }, says: 'line break' },
      {
        text: { execution: "{ kind: http, url: 'https://example.org', method: ¦7 }" },
        code: 'execution.method',
        says: 'expected text',
      },
      {
        text: { execution: "{ kind: http, url: 'https://example.org', method: ¦CONNECT }" },
        code: 'execution.method',
        says: 'never sent',
      },
      {
        text: { execution: "{ kind: http, url: 'https://example.org', method: ¦'G T' }" },
        code: 'execution.method',
        says: 'not the name',
      },
      {
        text: { execution: "{ kind: http, url: 'https://example.org', method: GET, body: ¦x }" },
        code: 'execution.body',
        says: 'GET sends no body',
        hint: 'POST',
      },
      { text: { execution: http(', body: { a: ¦.nan }') }, code: 'execution.body', says: 'JSON cannot hold' },
      {
        text: { execution: "¦{ kind: http, url: 'https://example.org' }" },
        code: 'execution.input_unused',
        says: 'nothing of the input',
        warning: true,
      },
    ],
  },
  'execution.warm': {
    code: 'execution.warm',
    takes: [
      { execution: '{ kind: node, module: ./run.mjs, warm: true }' },
      { execution: python('script: run.py, warm: false') },
    ],
    refuses: [
      {
        text: { execution: python('script: run.py, warm: ¦true') },
        says: 'only a module',
        hint: 'name a module',
      },
      { text: { execution: python("module: 'run:main', warm: ¦1") }, says: 'true or false' },
      {
        text: { execution: '{ kind: cli, cmd: [x], ¦warm: true }' },
        code: 'key.unknown',
        says: 'no key "warm"',
      },
    ],
  },
  'caps.network': {
    code: 'caps.network',
    takes: [
      { caps: '{ network: [http, https] }' },
      { caps: '{ network: [] }' },
      { caps: '{ network: [https] }', execution: http() },
    ],
    refuses: [
      { text: { caps: '{ network: [¦ftp] }' }, says: 'expected http or https' },
      { text: { caps: '{ network: [¦HTTPS] }' }, says: 'found "HTTPS"', hint: 'https' },
      { text: { caps: '{ network: ¦https }' }, says: 'expected a list', hint: '[https]' },
      { text: { caps: '{ network: ¦true }' }, says: 'expected a list' },
      {
        text: { caps: '{ network: ¦[http] }', execution: http() },
        says: 'the url is https',
        hint: '[http, https]',
      },
    ],
  },
  'caps.filesystem': {
    code: 'caps.filesystem',
    takes: [{ caps: '{ filesystem: { read: [data, ., ./a/../b, /opt/models], write: ["out/**"] } }' }],
    refuses: [
      { text: { caps: '{ filesystem: { read: ¦data } }' }, says: 'expected a list', hint: '[data]' },
      {
        text: { caps: '{ filesystem: { read: [¦../x] } }' },
        says: 'leaves the workspace',
        hint: 'extra_roots',
      },
      { text: { caps: '{ filesystem: { read: [¦"src/*.ts"] } }' }, says: 'pattern', hint: 'src' },
      { text: { caps: "{ filesystem: { write: [¦'a\\b'] } }" }, says: 'separated by /', hint: 'a/b' },
      {
        text: { caps: '{ filesystem: { ¦execute: [x] } }' },
        code: 'key.unknown',
        says: 'caps.filesystem has no key',
      },
      { text: { caps: '{ filesystem: { read: [¦7] } }' }, code: 'value.type', says: 'expected text' },
      { text: { caps: '{ filesystem: ¦all }' }, says: 'expected a map' },
    ],
  },
  'caps.subprocess': {
    code: 'caps.subprocess',
    takes: [{ caps: '{ subprocess: true }' }],
    refuses: [{ text: { caps: '{ subprocess: ¦sometimes }' }, says: 'expected true or false' }],
  },
  'mutates and caps agree': {
    code: 'mutates.contradicted',
    takes: [{ mutates: 'true', caps: '{ filesystem: { write: [out] } }' }, { mutates: 'true' }],
    refuses: [
      {
        text: { mutates: '¦false', caps: '{ filesystem: { write: [out] } }' },
        says: 'names paths',
        hint: 'true',
      },
    ],
  },
  'names of variables': {
    code: 'env.name',
    takes: [{ env: '{ passthrough: [LANG, LC_ALL], set: { A1: "", B_2: x } }' }],
    refuses: [
      { text: { env: '{ passthrough: [LANG, ¦path] }' }, says: 'in capitals', hint: 'PATH' },
      { text: { env: '{ passthrough: [¦1A] }' }, says: 'in capitals' },
      { text: { env: '{ set: { ¦my-var: x } }' }, says: 'in capitals', hint: 'MY_VAR' },
      {
        text: { env: '{ passthrough: ¦LANG }' },
        code: 'env.passthrough',
        says: 'expected a list',
        hint: '[LANG]',
      },
      { text: { env: '{ set: ¦[A] }' }, code: 'env.set', says: 'expected a map' },
      {
        text: { env: '{ set: { PORT: ¦8080 } }' },
        code: 'env.value',
        says: 'expected text, found number 8080',
        hint: "'8080'",
      },
      {
        text: { env: '{ passthrough: [¦A], set: { A: x } }' },
        code: 'env.conflict',
        says: 'also in env.set',
        hint: 'keep one',
      },
    ],
  },
  templating: {
    code: 'templating.engine',
    takes: [
      { templating: '{ engine: jinja2, context: { a: [1, { b: null }] }, cacheKey: "{{ input.a }}" }' },
      { templating: '{}', execution: '{ kind: cli, cmd: [echo, "{{ input.a }}"] }' },
    ],
    refuses: [
      { text: { templating: '{ engine: ¦liquid }' }, says: 'expected jinja2' },
      { text: { templating: '{ engine: ¦jinja }' }, says: 'found "jinja"', hint: 'jinja2' },
      { text: { templating: '{ context: ¦[1] }' }, code: 'templating.context', says: 'expected a map' },
      { text: { templating: '{ context: { a: ¦.nan } }' }, code: 'templating.context', says: 'NaN' },
      {
        text: { templating: '{ context: { a: [1, ¦9007199254740993] } }' },
        code: 'templating.context',
        says: 'exactly',
      },
      {
        text: { templating: '{ context: { ¦input: 1 } }' },
        code: 'templating.reserved',
        says: 'have already',
      },
      { text: { templating: "{ cacheKey: ¦'' }" }, code: 'templating.cache_key', says: 'empty' },
      {
        text: { templating: '{ cacheKey: ¦x }', deterministic: 'false' },
        code: 'templating.cache_key',
        says: 'no effect',
        warning: true,
      },
      {
        text: { execution: '{ kind: cli, cmd: [echo, ¦"{{ input.a }}"] }' },
        code: 'templating.missing',
        says: 'braces',
        hint: 'jinja2',
        warning: true,
      },
      {
        text: { env: '{ set: { A: ¦"{% if x %}" } }' },
        code: 'templating.missing',
        says: 'env.set.A',
        warning: true,
      },
    ],
  },
  'schemas are schemas': {
    code: 'schema.keyword',
    takes: [
      { inputSchema: '{ type: object, properties: { a: { type: [string, "null"], pattern: "^a+$" } } }' },
      {
        outputSchema: '{ $schema: "http://json-schema.org/draft-07/schema#", items: [{}, { type: number }] }',
      },
      { outputSchema: '{ const: { $ref: nowhere }, default: { type: strin } }' },
    ],
    refuses: [
      {
        text: { inputSchema: '{ type: ¦strin }' },
        says: 'inputSchema.type: expected one of',
        hint: 'string',
      },
      {
        text: { outputSchema: '{ properties: { a: { minLength: ¦-1 } } }' },
        says: 'outputSchema.properties.a.minLength',
      },
      { text: { outputSchema: '{ items: ¦[{}] }' }, says: 'expected a schema', hint: 'prefixItems' },
      { text: { inputSchema: '¦true' }, code: 'schema.type', says: 'expected a JSON Schema' },
      { text: { outputSchema: '¦' }, code: 'schema.type', says: 'found nothing' },
      {
        text: { outputSchema: '{ properties: { a: ¦text } }' },
        code: 'schema.type',
        says: 'expected a schema',
      },
      { text: { outputSchema: '{ pattern: ¦"(" }' }, code: 'schema.pattern', says: 'missing' },
      {
        text: { outputSchema: '{ pattern: ¦"^(?!a)" }' },
        code: 'schema.pattern',
        says: 'Perl',
        hint: 'look-around',
      },
      {
        text: { outputSchema: '{ $schema: ¦"http://json-schema.org/draft-04/schema#" }' },
        code: 'schema.dialect',
        says: 'not known',
        hint: '2020-12',
      },
      { text: { outputSchema: '{ maximum: ¦.inf }' }, code: 'schema.type', says: 'JSON cannot hold' },
      {
        text: { outputSchema: '{ ¦requried: [a] }' },
        code: 'schema.misspelled',
        says: 'does nothing',
        hint: 'required',
        warning: true,
      },
      {
        text: { inputSchema: '{ type: ¦string }' },
        code: 'schema.input_type',
        says: 'gives an object',
        warning: true,
      },
    ],
  },
  credentials: {
    code: 'credentials.provider',
    takes: [
      { credentials: '{ git-hub_2: { scope: user, required: false, env: { TOKEN: token } } }' },
      { credentials: "{ x: { headers: { Authorization: 'Bearer {{ token }}' } } }", execution: http() },
      { credentials: '{ x: { context: true } }', templating: '{}' },
      {
        credentials:
          '{ x: { schema: { type: object, properties: { user: { type: string } } }, env: { U: user } } }',
      },
    ],
    refuses: [
      { text: { credentials: '{ ¦GitHub: { env: { A: token } } }' }, says: 'lower-case' },
      {
        text: { credentials: '{ x: { scope: ¦all, env: { A: token } } }' },
        code: 'value.choice',
        says: 'system, user or any',
      },
      {
        text: { credentials: '{ x: { env: { A: ¦secret } } }' },
        code: 'credentials.field',
        says: 'has no field "secret"',
      },
      {
        text: { credentials: '{ x: { headers: ¦{ A: b } } }' },
        code: 'credentials.headers',
        says: 'only http tools',
        hint: 'env',
      },
      {
        text: { credentials: '{ x: { context: ¦true } }' },
        code: 'credentials.context',
        says: 'no templating',
      },
      {
        text: { credentials: '{ x: { env: { ¦A: token } } }', env: '{ set: { A: b } }' },
        code: 'env.conflict',
        says: 'also set by env',
      },
      {
        text: { credentials: '{ x: { env: { ¦a: token } } }' },
        code: 'env.name',
        says: 'in capitals',
        hint: 'A',
      },
    ],
  },
  retry: {
    code: 'retry.invalid',
    takes: [
      { retry: '{ attempts: 3, delayMs: 0, maxDelayMs: 5, factor: 1.5 }' },
      { retry: '{ attempts: 2, onStatus: [500] }', execution: http() },
    ],
    refuses: [
      { text: { retry: '{ attempts: ¦0 }' }, says: 'from 1 to 10' },
      { text: { retry: '{ attempts: 2, factor: ¦0.5 }' }, says: 'a number from 1' },
      { text: { retry: '{ attempts: 2, delayMs: 10, maxDelayMs: ¦5 }' }, says: 'less than delayMs' },
      { text: { retry: '{ attempts: 2, onStatus: ¦[500] }' }, says: 'only http tools' },
      { text: { retry: '{ attempts: 2, onStatus: [¦200] }', execution: http() }, says: 'from 400 to 599' },
    ],
  },
  health: {
    code: 'health.invalid',
    takes: [
      { health: '{ strategy: ping, input: { a: 1 }, intervalMs: 1000 }' },
      { health: "{ strategy: endpoint, url: 'https://example.org/healthz' }" },
      { health: '{ strategy: connection, failureThreshold: 2 }', execution: http() },
    ],
    refuses: [
      {
        text: { health: '{ strategy: ¦mcp }' },
        code: 'health.strategy',
        says: 'process, connection, endpoint or ping',
      },
      { text: { health: '{ strategy: ¦endpoint }' }, says: 'needs a url' },
      { text: { health: "{ strategy: process, url: ¦'https://x.org' }" }, says: 'no use', hint: 'remove' },
      { text: { health: '{ strategy: process, input: ¦{} }' }, says: 'no use' },
      { text: { health: '{ strategy: ¦connection }' }, says: 'only http', hint: 'process' },
      {
        text: { health: '{ strategy: ¦process }', execution: http() },
        says: 'no process',
        hint: 'connection',
      },
      { text: { health: '{ strategy: ¦ping }', mutates: 'true' }, says: 'changes the workspace' },
      { text: { health: '{ strategy: ¦ping }', actions: '{ a: {} }' }, says: 'cannot be called' },
      { text: { health: '{ strategy: process, intervalMs: ¦1 }' }, says: 'from 1000' },
    ],
  },
  actions: {
    code: 'action.name',
    takes: [
      {
        actions:
          '{ read: { description: d, mutates: false }, write_all: { timeoutMs: 5, execution: { cmd: [x] } } }',
      },
    ],
    refuses: [
      { text: { actions: '{ ¦Read: {} }' }, says: 'lower-case' },
      { text: { actions: '{ ¦a.b: {} }' }, says: 'lower-case' },
      {
        text: { actions: '{ a: { ¦input_schema: {} } }' },
        code: 'key.snake_case',
        says: 'actions.a',
        hint: 'inputSchema',
      },
      {
        text: { actions: '{ a: { execution: { ¦kind: cli } } }' },
        code: 'key.unknown',
        says: 'actions.a.execution has no key "kind"',
      },
      {
        text: { actions: '{ a: { execution: { cmd: ¦x } } }' },
        code: 'execution.cmd',
        says: 'expected a list',
      },
      { text: { actions: '{ a: { execution: ¦[1] } }' }, code: 'action.execution', says: 'expected a map' },
      {
        text: { actions: '{ a: { outputSchema: { type: ¦strin } } }' },
        code: 'schema.keyword',
        says: 'actions.a.outputSchema.type',
      },
      { text: { actions: '{ a: { timeoutMs: ¦0 } }' }, code: 'timeout.invalid', says: 'actions.a.timeoutMs' },
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
