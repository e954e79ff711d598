// Owns: manifests that the rules of needs, schemas, credentials, reliability and actions take and refuse.
// Refuses: checking them.
import { httpWith as http, type Rules } from './rule-for-tests.ts';

export const NEED_RULES: Rules = {
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
  'what only a program could use': {
    code: 'caps.filesystem',
    takes: [
      {
        execution: http(),
        env: '{ passthrough: [LANG] }',
        templating: '{}',
        credentials: "{ x: { headers: { A: '{{ token }}' } } }",
      },
    ],
    refuses: [
      {
        text: { execution: http(), caps: '{ filesystem: ¦{ read: [.] } }' },
        says: 'no program',
        hint: 'remove it',
      },
      {
        text: { execution: http(), caps: '{ subprocess: ¦true }' },
        code: 'caps.subprocess',
        says: 'no program',
      },
      { text: { execution: http(), env: '¦{ set: { A: b } }' }, code: 'env.unused', says: 'no templating' },
      {
        text: { execution: http(), credentials: '{ x: { env: ¦{ A: token } } }' },
        code: 'credentials.env',
        says: 'no program',
        hint: 'use headers',
      },
    ],
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
      ...['HAFT_KEY', 'HAFT_TOKEN', 'HAFT_APPROVAL_TOKEN'].map((name) => ({
        text: { env: `{ passthrough: [LANG, ¦${name}] }` },
        code: 'env.secret',
        says: 'variables of Haft itself',
        hint: 'under credentials',
      })),
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
  'deterministic tools': {
    code: 'deterministic.contradicted',
    takes: [
      { deterministic: 'true', caps: '{ filesystem: { read: [data] }, subprocess: true, network: [] }' },
      { deterministic: 'true', caps: '{ network: [https] }', actions: '{ go: { deterministic: false } }' },
    ],
    refuses: [
      {
        text: { deterministic: '¦true', caps: '{ network: [https] }' },
        says: 'caps.network lets it ask others',
        hint: 'false',
      },
      {
        text: { deterministic: '¦true', caps: '{ filesystem: { write: [out] } }' },
        says: 'a replay writes none',
        hint: 'false',
      },
      {
        text: { deterministic: '¦true', execution: http() },
        says: 'it is an http tool',
        hint: 'false',
      },
      {
        text: { actions: '{ go: { deterministic: ¦true } }', caps: '{ network: [http] }' },
        says: 'actions.go.deterministic: it is true, and caps.network',
        hint: 'false',
      },
    ],
  },
  templating: {
    code: 'templating.engine',
    takes: [
      {
        templating: '{ engine: jinja2, context: { a: [1, { b: null }] }, cacheKey: "{{ input.a }}" }',
        deterministic: 'true',
      },
      {
        templating: '{ cacheKey: "{{ input.a }}" }',
        deterministic: 'false',
        actions: '{ go: { deterministic: true } }',
      },
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
        hint: 'remove it',
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
      { retry: '{ attempts: 3, delayMs: 0, maxDelayMs: 5, factor: 1.5 }', idempotent: 'true' },
      { retry: '{ attempts: 2 }', actions: '{ go: { idempotent: true } }' },
      { retry: '{ attempts: 2, onStatus: [500] }', execution: http() },
    ],
    refuses: [
      {
        text: { retry: '¦{ attempts: 2 }' },
        code: 'retry.unused',
        says: 'only where the tool is idempotent',
        hint: 'idempotent: true',
        warning: true,
      },
      { text: { retry: '{ attempts: ¦0 }' }, says: 'from 1 to 10' },
      { text: { idempotent: 'true', retry: '{ attempts: 2, factor: ¦0.5 }' }, says: 'a number from 1' },
      {
        text: { idempotent: 'true', retry: '{ attempts: 2, delayMs: 10, maxDelayMs: ¦5 }' },
        says: 'less than delayMs',
      },
      { text: { idempotent: 'true', retry: '{ attempts: 2, onStatus: ¦[500] }' }, says: 'only http tools' },
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
