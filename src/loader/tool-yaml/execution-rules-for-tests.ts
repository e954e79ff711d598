// Owns: manifests that the rules of execution take and refuse.
// Refuses: checking them.
import { httpWith as http, type Rules } from './rule-for-tests.ts';

const python = (more: string) => `{ kind: python, ${more} }`;

export const EXECUTION_RULES: Rules = {
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
        hint: '[echo, hello]',
      },
      { text: { execution: '{ kind: cli, cmd: ¦"echo 007" }' }, says: 'a list', hint: "[echo, '007']" },
      {
        text: { execution: `{ kind: cli, cmd: ¦"ls | wc -l" }` },
        says: 'a list',
        hint: "[sh, -c, 'ls | wc -l']",
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
};
