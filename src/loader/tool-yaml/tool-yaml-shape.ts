// Owns: the one table of the keys of a `*.tool.yaml`: what each may hold, its default, and what it means.
// Refuses: a second copy; diagnostics, the JSON Schema for editors and the reference page are all made from this.
import type { MapShape, VariantsShape } from '../../contract/shape.ts';
import { EXECUTION_KEYS, KINDS } from './execution-shape.ts';
import { caps, credential, env, templating } from './needs-shape.ts';
import { health, retry } from './reliability-shape.ts';
import { flag, LARGEST, LONGEST_MS, list, number, schema, text } from './shape-words.ts';
import { NAMES } from './text-checks.ts';

const timeoutMs = number(
  'Milliseconds until the call, retries included, is ended with its process tree.',
  1,
  LONGEST_MS,
  {
    code: 'timeout.invalid',
  },
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
      {
        code: 'id.invalid',
      },
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
