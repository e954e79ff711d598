// Owns: the table of what a tool needs: capabilities, environment, templates, credentials.
// Refuses: what is granted of it; policy says that.
import type { MapShape } from '../../contract/shape.ts';
import { flag, list, schema, text } from './shape-words.ts';
import { HEADER, NAMES } from './text-checks.ts';

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
          {
            code: 'caps.filesystem',
            default: 'none',
          },
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

export const credential: MapShape = {
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
