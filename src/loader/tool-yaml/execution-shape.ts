// Owns: the kinds of execution: which keys each has.
// Refuses: what the keys mean together; see build-execution.

import type { FlagShape, Shape, TextShape } from '../../contract/shape.ts';
import type { YamlKind } from '../../contract/yaml-tool.ts';
import { HEADER, type TextCheck } from './text-checks.ts';

const text = (check: TextCheck, code: string, doc: string): TextShape => ({ is: 'text', check, code, doc });

const script = text('script', 'execution.script', 'A program of the pack, started for each call.');
const warm: FlagShape = {
  is: 'flag',
  code: 'execution.warm',
  doc: 'Whether the interpreter stays between calls. Needs `module`.',
  default: 'false',
};

interface KindRow {
  readonly doc: string;
  readonly keys: { readonly [key: string]: Shape };
  readonly required?: readonly string[];
  /** Exactly one of these says what is run. */
  readonly entries?: readonly string[];
}

export const EXECUTION_KEYS: { readonly [K in YamlKind]: KindRow } = {
  python: {
    doc: 'A function of a Python module, or a Python program.',
    keys: {
      module: text(
        'python-module',
        'execution.module',
        '`module:callable`; the function is called with the input and may be async.',
      ),
      script,
      warm,
    },
    entries: ['module', 'script'],
  },
  node: {
    doc: 'A function of a JavaScript module, or a JavaScript program.',
    keys: {
      script,
      node: text('script', 'execution.script', 'The same as `script`.'),
      module: text(
        'node-module',
        'execution.module',
        'A module of the pack, or of a package that is installed in it; `:name` after it names an export other than the default.',
      ),
      warm,
    },
    entries: ['script', 'node', 'module'],
  },
  php: {
    doc: 'A PHP program.',
    keys: {
      php: text('script', 'execution.script', 'A program of the pack, started for each call.'),
      script: { ...script, doc: 'The same as `php`.' },
    },
    entries: ['php', 'script'],
  },
  cli: {
    doc: 'Any program.',
    keys: {
      cmd: {
        is: 'list',
        least: 1,
        words: true,
        code: 'execution.cmd',
        item: text('plain', 'execution.cmd', 'The program, or an argument.'),
        doc: 'Program and arguments, as they are: no shell reads them. A program with a slash in its name is a file of the pack.',
      },
    },
    required: ['cmd'],
  },
  http: {
    doc: 'A request.',
    keys: {
      url: text('url', 'execution.url', 'http or https, without user and password.'),
      method: {
        ...text('method', 'execution.method', 'GET, POST, …'),
        default: 'GET, and POST where there is a `body`',
      },
      headers: {
        is: 'record',
        doc: 'Headers that are sent.',
        code: 'execution.headers',
        key: 'header',
        keyPattern: HEADER.source,
        keyName: 'NAME',
        value: { ...text('header-value', 'execution.headers', 'Its value.'), empty: true },
      },
      body: {
        is: 'json',
        code: 'execution.body',
        doc: 'What is sent: a text as it is, anything else as JSON.',
        default: 'of POST, PUT and PATCH: the input, as JSON',
      },
    },
    required: ['url'],
  },
};

export const KINDS = Object.keys(EXECUTION_KEYS) as readonly YamlKind[];
