// Owns: the one table of the keys of a `*.tool.yaml`: what each may hold, its default, and what it means.
// Refuses: a second copy; diagnostics, the JSON Schema for editors and the reference page are all made from this.
import type {
  FlagShape,
  ListShape,
  MapShape,
  NumberShape,
  SchemaShape,
  Shape,
  TextShape,
  VariantsShape,
} from '../../contract/shape.ts';
import { EXECUTION_KEYS, KINDS } from './execution-shape.ts';
import { HEADER, NAMES, type TextCheck } from './text-checks.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
/** Timers of the platform hold no more than this. */
const LONGEST_MS = 2 ** 31 - 1;

export const text = (check: TextCheck, doc: string, more: Partial<TextShape> = {}): TextShape => ({
  is: 'text',
  check,
  doc,
  ...(Object.hasOwn(NAMES, check) ? { pattern: NAMES[check as keyof typeof NAMES].source } : {}),
  ...more,
});
const flag = (doc: string, byDefault?: string): FlagShape => ({
  is: 'flag',
  doc,
  ...(byDefault ? { default: byDefault } : {}),
});
const list = (item: Shape, doc: string, more: Partial<ListShape> = {}): ListShape => ({
  is: 'list',
  item,
  doc,
  ...more,
});
const number = (doc: string, min: number, max: number, more: Partial<NumberShape> = {}): NumberShape => ({
  is: 'number',
  doc,
  min,
  max,
  ...more,
});
export const schema = (doc: string): SchemaShape => ({ is: 'schema', doc, code: 'schema.type' });

export const caps: MapShape = {
  is: 'map',
  doc: 'What it needs of the machine. What is not here it does not get, whatever policy grants.',
  keys: {
    network: list(
      { is: 'choice', of: ['http', 'https'], code: 'caps.network', doc: 'A protocol.' },
      'Protocols that it speaks; to which hosts, policy says.',
      { code: 'caps.network', default: "none; of http tools the url's" },
    ),
    filesystem: {
      is: 'map',
      doc: 'Paths that it touches, each with everything below it.',
      code: 'caps.filesystem',
      keys: {
        read: list(text('cap-path', 'Relative to the workspace, or absolute.'), 'Paths that it reads.', {
          code: 'caps.filesystem',
          default: 'none',
        }),
        write: list(
          text('cap-path', 'Relative to the workspace, or absolute.'),
          'Paths that it changes, and may read.',
          { code: 'caps.filesystem', default: 'none' },
        ),
      },
    },
    subprocess: {
      ...flag('Whether it may start other programs; its own program is not one.', 'false'),
      code: 'caps.subprocess',
    },
  },
};

export const env: MapShape = {
  is: 'map',
  doc: 'The environment that its program sees, beside what an interpreter needs to start.',
  keys: {
    passthrough: list(
      text('env-passed', "A name in capitals; none of Haft's own, which begin with HAFT_.", {
        code: 'env.name',
      }),
      "Variables that are taken from the host's environment, where they are set there.",
      { code: 'env.passthrough', default: 'none' },
    ),
    set: {
      is: 'record',
      doc: 'Variables with their values; templates where there is `templating`.',
      code: 'env.set',
      key: 'env-name',
      keyPattern: NAMES['env-name'].source,
      keyName: 'NAME',
      value: text('plain', 'A value.', { code: 'env.value', empty: true }),
    },
  },
};

export const templating: MapShape = {
  is: 'map',
  doc:
    'Makes templates of `cmd`, `url`, `headers`, `body`, `env.set` and `cacheKey`. They see `input`, `env`, `action`, ' +
    '`config`, `credentials`, `id`, `version` and the keys of `context`. Without it braces are braces.',
  keys: {
    engine: {
      is: 'choice',
      of: ['jinja2'],
      code: 'templating.engine',
      doc: 'The language of the templates.',
      default: 'jinja2',
    },
    context: {
      is: 'open',
      code: 'templating.context',
      doc: 'Values that templates see by their keys.',
      default: 'none',
    },
    cacheKey: text('plain', "Of a deterministic tool: what stands for the input in a run's identity.", {
      code: 'templating.cache_key',
      default: 'the input',
    }),
  },
};

const credential: MapShape = {
  is: 'map',
  doc: 'A secret that it needs, and where it is put at the last moment.',
  someOf: ['env', 'headers', 'context'],
  keys: {
    scope: {
      is: 'choice',
      of: ['system', 'user', 'any'],
      doc: "Whose; `any` takes the user's first, then the system's.",
      default: 'any',
    },
    required: flag('Whether the tool is disabled without it.', 'true'),
    schema: {
      ...schema('What the secret must look like: an object of texts.'),
      default: 'an object with a text `token`',
    },
    env: {
      is: 'record',
      doc: 'Variables, each with the field of the secret that it gets.',
      key: 'env-name',
      keyPattern: NAMES['env-name'].source,
      keyName: 'NAME',
      value: text('plain', 'A field of the secret.'),
    },
    headers: {
      is: 'record',
      doc: "Of http tools: headers, each with a template over the secret's fields, such as `Bearer {{ token }}`.",
      key: 'header',
      keyPattern: HEADER.source,
      keyName: 'NAME',
      value: text('header-value', 'A template.'),
    },
    context: flag('Whether templates see it as `credentials.PROVIDER`.', 'false'),
  },
};

const retry: MapShape = {
  is: 'map',
  doc: 'Failed calls are sent again, after a jittered delay: idempotent ones, also where a program ended and said that it failed, and those that provably did not leave.',
  required: ['attempts'],
  keys: {
    attempts: number('How often it is sent at most, the first time included.', 1, 10, {
      code: 'retry.invalid',
    }),
    delayMs: number('Milliseconds before the second attempt.', 0, 600_000, {
      code: 'retry.invalid',
      default: '200',
    }),
    maxDelayMs: number('The longest delay.', 0, 600_000, { code: 'retry.invalid', default: '10000' }),
    factor: number('By how much the delay grows each time.', 1, 10, {
      code: 'retry.invalid',
      fraction: true,
      default: '2',
    }),
    onStatus: list(
      number('A status.', 400, 599, { code: 'retry.invalid' }),
      'Of http tools: answers that count as failed.',
      { default: '429, 502, 503, 504' },
    ),
  },
};

const health: MapShape = {
  is: 'map',
  doc: 'How to find out whether it works before somebody calls it.',
  required: ['strategy'],
  keys: {
    strategy: {
      is: 'choice',
      of: ['process', 'connection', 'endpoint', 'ping'],
      code: 'health.strategy',
      doc: '`process`: its program starts. `connection`: its host accepts one. `endpoint`: `url` answers below 400. `ping`: a call with `input` succeeds.',
    },
    intervalMs: number('Milliseconds between two looks.', 1000, LONGEST_MS, {
      code: 'health.invalid',
      default: '30000',
    }),
    timeoutMs: number('Milliseconds that a look may take.', 1, 600_000, {
      code: 'health.invalid',
      default: '5000',
    }),
    failureThreshold: number('So many failures in a row make it unhealthy.', 1, 100, {
      code: 'health.invalid',
      default: '3',
    }),
    successThreshold: number('So many successes in a row make it ready again.', 1, 100, {
      code: 'health.invalid',
      default: '1',
    }),
    url: text('url', 'Of `endpoint`: what is asked.', { code: 'health.invalid' }),
    input: { is: 'open', code: 'health.invalid', doc: 'Of `ping`: what it is called with.' },
  },
};

const timeoutMs = number(
  'Milliseconds until the call, retries included, is ended with its process tree.',
  1,
  LONGEST_MS,
  { code: 'timeout.invalid' },
);

const limits: MapShape = {
  is: 'map',
  doc: "How much may go in and out. The smaller of these and the host's limits holds.",
  required: ['maxInputBytes', 'maxOutputBytes'],
  keys: {
    maxInputBytes: number('Bytes of the input, as JSON.', 1, LARGEST, { code: 'limits.invalid' }),
    maxOutputBytes: number('Bytes of the answer, as JSON.', 1, LARGEST, { code: 'limits.invalid' }),
  },
};

const execution: VariantsShape = {
  is: 'variants',
  doc: 'How it is run. Programs get one JSON line on stdin, `{"input": …}`, and print JSON.',
  key: 'kind',
  by: { is: 'choice', of: KINDS, code: 'execution.kind', doc: 'What runs it.' },
  of: Object.fromEntries(
    Object.entries(EXECUTION_KEYS).map(([kind, { doc, keys, required }]): [string, MapShape] => [
      kind,
      {
        is: 'map',
        doc,
        ...(required ? { required } : {}),
        keys: { kind: { is: 'choice', of: [kind], doc }, ...keys },
      },
    ]),
  ),
};

const action: MapShape = {
  is: 'map',
  doc: 'One of several things that it does. What it does not say, the tool says.',
  keys: {
    description: text('plain', 'What it does.'),
    deterministic: flag('Whether equal inputs give equal outputs.', "the tool's"),
    idempotent: flag('Whether it may be sent again when its answer was lost.', "the tool's"),
    mutates: flag('Whether it changes the workspace.', "the tool's"),
    timeoutMs: { ...timeoutMs, default: "the tool's" },
    limits: { ...limits, default: "the tool's" },
    inputSchema: { ...schema('What it takes.'), default: "the tool's" },
    outputSchema: { ...schema('What it answers.'), default: "the tool's" },
    execution: {
      is: 'open',
      code: 'action.execution',
      doc: "Keys of the tool's `execution` that are different; never `kind`.",
      default: "the tool's",
    },
  },
};

export const TOOL_YAML: MapShape = {
  is: 'map',
  doc: 'A tool.',
  required: [
    'id',
    'version',
    'deterministic',
    'timeoutMs',
    'limits',
    'inputSchema',
    'outputSchema',
    'execution',
  ],
  keys: {
    id: text(
      'id',
      'Its name: two or more segments of lower-case letters, digits and `_`, such as `pkg.tool`.',
      { code: 'id.invalid' },
    ),
    version: text('version', 'SemVer, such as `1.2.0`.', { code: 'version.invalid', example: '1.0.0' }),
    name: text('plain', 'A name for people.', { default: 'the id' }),
    description: text(
      'plain',
      'For the person or agent who chooses a tool: what it does, and when to take another.',
    ),
    tags: list(text('plain', 'A word.'), 'Words to find it by.', { default: 'none' }),
    deterministic: {
      ...flag(
        'Whether equal inputs give equal outputs: then a call may be answered from an earlier result. Not with `caps.network` or `caps.filesystem.write`, nor of an http tool.',
      ),
      code: 'deterministic.invalid',
    },
    idempotent: flag(
      'Whether it may be sent again when its answer was lost.',
      'of deterministic tools, and http tools that GET or HEAD: true',
    ),
    mutates: flag('Whether it changes the workspace.', 'whether `caps.filesystem.write` names something'),
    timeoutMs,
    limits,
    inputSchema: schema(
      'What it takes: JSON Schema 2020-12, or draft-07 where its `$schema` says so. `$ref` may lead to files of the pack.',
    ),
    outputSchema: schema('What it answers, likewise.'),
    execution,
    caps,
    env,
    templating,
    credentials: {
      is: 'record',
      doc: 'Secrets that it needs, by provider.',
      key: 'provider',
      keyPattern: NAMES.provider.source,
      keyName: 'PROVIDER',
      value: credential,
    },
    config: schema(
      'What an installation of it may be configured with: an object. Templates and programs see the values as `config`.',
    ),
    retry,
    health,
    metadata: {
      is: 'open',
      doc: 'Notes for people and other programs: an owner, a ticket, a page. Haft keeps them and goes by none of them.',
      default: 'none',
    },
    actions: {
      is: 'record',
      doc: 'Where there are some, the file describes one tool for each, `<id>.NAME`, and the id alone cannot be called.',
      key: 'segment',
      keyPattern: NAMES.segment.source,
      keyName: 'NAME',
      value: action,
    },
  },
};
