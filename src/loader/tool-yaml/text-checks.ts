// Owns: what a text in a `*.tool.yaml` must be to mean something: one row for each check that the table names.
// Refuses: looking at the disk (pack-files) and at other keys (check-together).
import { posix } from 'node:path';
import { parseHttpUrl } from '../../contract/http.ts';
import { OWN_VARIABLE } from '../../contract/own-variable.ts';
import type { TextProblem } from '../../contract/shape.ts';

export type TextCheck = keyof typeof TEXT_CHECKS;

/** Texts that one pattern says all about; editors get it too. */
export const NAMES = {
  id: /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/,
  segment: /^[a-z][a-z0-9_]*$/,
  version:
    /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/,
  'env-name': /^[A-Z][A-Z0-9_]*$/,
  provider: /^[a-z][a-z0-9_-]*$/,
} as const;

/** A token of RFC 9110. */
export const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The host sets these, or they say where the message ends. */
const FRAMING =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*)$/i;

const MAX_NAME = 200;

const OWN_FACT = "variables of Haft itself, such as its key and its tokens, are no tool's";

type Check = (text: string) => readonly TextProblem[];

const NOTHING: readonly TextProblem[] = [];
const wrong = (code: string, fact: string, hint?: string): readonly TextProblem[] => [
  { code, fact, ...(hint ? { hint } : {}) },
];

/** Whether it has a template in it, wherever those are rendered. */
export const isTemplate = (text: string): boolean => /\{[{%#]/.test(text);

const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

const variable: Check = (text) =>
  NAMES['env-name'].test(text)
    ? NOTHING
    : wrong('env.name', 'a variable is named in capitals, digits and _', upperName(text));

export const TEXT_CHECKS = {
  plain: (text) => (text.includes('\0') ? wrong('value.text', 'it holds a NUL character') : NOTHING),

  id: (text) => {
    if (NAMES.id.test(text) && text.length <= MAX_NAME) return NOTHING;
    const meant = text.toLowerCase().replaceAll(/[-\s/:]+/g, '_');
    const fact = text.length > MAX_NAME ? `it is longer than ${MAX_NAME} characters` : ID_FACT;
    return wrong('id.invalid', fact, NAMES.id.test(meant) && meant.length <= MAX_NAME ? meant : undefined);
  },

  segment: (text) =>
    NAMES.segment.test(text) && text.length <= MAX_NAME
      ? NOTHING
      : wrong('action.name', 'it must be lower-case letters, digits and _, and begin with a letter'),

  version: (text) => {
    if (NAMES.version.test(text) && text.length <= MAX_NAME) return NOTHING;
    const parts = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(text);
    const hint = parts ? [1, 2, 3].map((at) => Number(parts[at] ?? 0)).join('.') : undefined;
    return wrong('version.invalid', 'it is not a version of SemVer: major.minor.patch', hint);
  },

  'env-name': (text) => variable(text),

  'env-passed': (text) =>
    OWN_VARIABLE.test(text)
      ? wrong('env.secret', OWN_FACT, 'declare a secret that it needs under credentials')
      : variable(text),

  provider: (text) =>
    NAMES.provider.test(text)
      ? NOTHING
      : wrong('credentials.provider', 'a provider is named in lower-case letters, digits, _ and -'),

  'python-module': (text) => {
    if (/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(text)) return NOTHING;
    const hint = text.endsWith('.py') ? `script: ${text}` : /^[\w.]+$/.test(text) ? `${text}:run` : undefined;
    return wrong('execution.module', 'it must be module:callable', hint);
  },

  'node-module': (text) => {
    if (/^node:/.test(text)) return wrong('execution.module', 'a module of Node itself is no tool');
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
      return wrong('execution.module', 'it is a URL, and modules are files');
    if (/:(?![A-Za-z_$][\w$]*$)/.test(text))
      return wrong('execution.module', 'after the colon comes the name of an export');
    return checkFile(text.replace(/:[^:]*$/, ''), 'execution.module');
  },

  script: (text) => checkFile(text, 'execution.script'),

  url: (text) => {
    if (isTemplate(text)) {
      return /^(https?:\/\/|\{\{)/.test(text)
        ? NOTHING
        : wrong('execution.url', 'it must begin with http://, https:// or a template');
    }
    try {
      parseHttpUrl(text);
      return NOTHING;
    } catch (error) {
      return wrong('execution.url', (error as Error).message.replace(/^Cannot request this URL: /, ''));
    }
  },

  method: (text) => {
    if (/^(CONNECT|TRACE)$/i.test(text)) return wrong('execution.method', 'this method is never sent');
    return /^[A-Za-z]{1,20}$/.test(text)
      ? NOTHING
      : wrong('execution.method', 'it is not the name of a method');
  },

  header: (text) => {
    if (FRAMING.test(text))
      return wrong('execution.headers', 'this header frames or routes a message; the host sets it');
    return HEADER.test(text) ? NOTHING : wrong('execution.headers', 'it is not the name of a header');
  },

  'header-value': (text) =>
    CONTROL.test(text) || /[\r\n]/.test(text)
      ? wrong('execution.headers', 'it holds a line break or another control character')
      : NOTHING,

  'cap-path': (text) => {
    if (text.includes('\0')) return wrong('caps.filesystem', 'it holds a NUL character');
    if (text.includes('\\'))
      return wrong('caps.filesystem', 'folders are separated by /', text.replaceAll(/\\+/g, '/'));
    const folder = text.replace(/\/\*\*$/, '') || '/';
    if (/[*?[\]{}]/.test(folder)) {
      return wrong(
        'caps.filesystem',
        'it is a pattern, and a path with everything below it is meant',
        folder.replace(/\/?[^/]*[*?[{].*$/, '') || '.',
      );
    }
    if (/^\.\.(\/|$)/.test(posix.normalize(folder))) {
      return wrong(
        'caps.filesystem',
        'it leaves the workspace',
        'name a folder of paths.extra_roots by its absolute path',
      );
    }
    return NOTHING;
  },
} as const satisfies { readonly [name: string]: Check };

const ID_FACT =
  'an id is two or more segments with dots between, each of lower-case letters, digits and _, and begins with a letter';

const upperName = (text: string): string | undefined => {
  const upper = text.toUpperCase().replaceAll(/[-.\s]+/g, '_');
  return NAMES['env-name'].test(upper) ? upper : undefined;
};

/** By its letters alone; whether it is there, and where links lead, is seen later. */
function checkFile(text: string, code: string): readonly TextProblem[] {
  if (/[\x00-\x1f]/.test(text))
    return wrong(code, 'it is not the name of a file; put code into a file of its own');
  if (text.includes('\\')) return wrong(code, 'folders are separated by /', text.replaceAll(/\\+/g, '/'));
  if (text.startsWith('/'))
    return wrong('path.outside', 'it is absolute, and files of a pack are relative to its own');
  return NOTHING;
}
