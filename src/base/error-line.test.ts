import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { errorLine } from './error-line.ts';

describe('errorLine', () => {
  const programs: readonly [string, string][] = [
    ["throw new Error('boom')", 'Error: boom'],
    ["throw Object.assign(new TypeError('odd'), { code: 'E_ODD', at: { line: 3 } })", 'TypeError: odd'],
    ["throw new Error('outer', { cause: new Error('inner') })", 'Error: outer'],
    ["throw new Error('first line\\nsecond line')", 'Error: first line'],
    ["Promise.reject(new RangeError('late'))", 'RangeError: late'],
    ["throw 'a text'", 'a text'],
    ["console.error('before'); throw new Error('boom')", 'Error: boom'],
    ["require('no-such-module-of-haft')", "Error: Cannot find module 'no-such-module-of-haft'"],
    ['let a = ;', "SyntaxError: Unexpected token ';'"],
    ["console.error('one'); console.error('two'); process.exit(3)", 'two'],
  ];
  for (const [code, line] of programs)
    it(`is what Node.js says of ${code}`, () => {
      const { stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' });
      assert.equal(errorLine(stderr), line);
    });

  const texts: readonly [string, string | undefined][] = [
    ['one\ntwo\n\n', 'two'],
    ['', undefined],
    [' \n', undefined],
    ['Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no\n', 'ValueError: no'],
    [
      'Exception in thread "main" java.lang.RuntimeException: no\n\tat Main.main(Main.java:3)\n\t... 2 more\n',
      'Exception in thread "main" java.lang.RuntimeException: no',
    ],
    ['    at a (b.js:1:1)\nNode.js v24.1.0\n', 'Node.js v24.1.0'],
    [
      'the beginning is cut off\nError: no\n    at a (b.js:1:1) {\n  code: 1\n}\n\nNode.js v24.1.0',
      'Error: no',
    ],
  ];
  for (const [text, line] of texts)
    it(`of ${JSON.stringify(text)} is ${line}`, () => assert.equal(errorLine(text), line));
});
