import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ATTEMPT_WORDS, STDERR_TAIL, signalOfCode, withStderr } from './attempt-words.ts';
import { failedEnd } from './backend.ts';

const exit = failedEnd('tool.exit', ATTEMPT_WORDS.exit(3), { exitCode: 3 });
const said = (text: string) => withStderr(exit, Buffer.from(text));

describe('withStderr', () => {
  it('keeps the last lines, and says the very last one', () => {
    const { message, stderr } = said('one\ntwo\n\n');
    assert.deepEqual([message, stderr], ['The program ended with exit code 3: two', 'one\ntwo']);
  });

  it('says the error of a Node.js program, not the version that Node.js ends with', () => {
    const text = "x.js:1\nthrow new Error('boom')\n^\n\nError: boom\n    at x.js:1:7\n\nNode.js v24.1.0\n";
    assert.equal(said(text).message, 'The program ended with exit code 3: Error: boom');
    assert.match(said(text).stderr ?? '', /Node\.js v24/);
  });

  it('keeps no more than it may of what is long in any way', () => {
    for (const text of ['x\n'.repeat(9999), 'y'.repeat(9999), `${'z'.repeat(500)}\n`.repeat(99)]) {
      const { message, stderr = '' } = said(text);
      assert.ok(stderr.length > 0 && stderr.length <= STDERR_TAIL.bytes && message.length < 400);
      assert.ok(stderr.split('\n').length <= STDERR_TAIL.lines);
    }
  });

  it('leaves out what a terminal would obey, and bytes that are no text', () => {
    const { stderr } = said(
      '\u001b[1;31mred\u001b[0m\u0007 \u001b]0;title\u0007x\rover\r\nlast\u0000\u009b\n',
    );
    assert.equal(stderr, 'red x\nover\nlast');
    assert.equal(withStderr(exit, Buffer.from([0xff, 0xfe, 0x0a])).stderr, '\ufffd\ufffd');
  });

  it('says nothing where nothing was said, and of ends that are not the doing of the program', () => {
    assert.deepEqual(said(' \n\n'), exit);
    const lost = failedEnd('lost', 'Lost the attempt');
    assert.deepEqual(withStderr(lost, Buffer.from('words\n')), lost);
    const time = withStderr(failedEnd('limit.time', ATTEMPT_WORDS.overTime(5)), Buffer.from('words\n'));
    assert.deepEqual([time.message, time.stderr], [ATTEMPT_WORDS.overTime(5), 'words']);
  });
});

describe('signalOfCode', () => {
  it('knows signals by their usual names, and what is none', () => {
    assert.deepEqual([134, 137, 139, 157].map(signalOfCode), ['SIGABRT', 'SIGKILL', 'SIGSEGV', 'SIGIO']);
    assert.deepEqual([0, 1, 128, 255].map(signalOfCode), [undefined, undefined, undefined, undefined]);
  });
});
