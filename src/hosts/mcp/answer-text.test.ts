// Owns: how the answers of builtins read, tool by tool.
// Refuses: blocks and `_meta` around them (test/mcp-mapping.test.ts).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../contract/json.ts';
import { BUILTIN_TOOLS } from '../../tools/index.ts';
import { answerText } from './answer-text.ts';

const PROGRAM = {
  ...{ code: 0, signal: null, stdout: '', stderr: '', timed_out: false, connections: [] },
  sandbox: { seccomp: 2 },
};
const SUM = 'a'.repeat(64);

const CASES: readonly (readonly [tool: string, data: object, text: string, args?: JsonObject])[] = [
  ['file_read', { content: 'a\r\n', encoding: 'utf-8', size: 3, sha256: SUM }, 'a\r\n'],
  ['file_read', { content: '', encoding: 'utf-8', size: 0 }, ''],
  ['file_read', { content: 'AP8=', encoding: 'base64', size: 2 }, '[not text: 2 bytes, as base64]\nAP8='],
  ['fs_list', { files: ['a', 'b/'], count: 2, truncated: false }, 'a\nb/'],
  ['fs_list', { files: ['a\nb', 'c'], count: 2, truncated: false }, '"a\\nb"\nc'],
  ['fs_list', { files: [], count: 0, truncated: false }, '(no files)'],
  [
    'grep',
    { matches: [{ file: 'a', line: 2, col: 1, snippet: 'x\n', before: ['w'], after: ['y'] }], count: 1 },
    'a-1-w\na:2:x\na-3-y',
  ],
  ['grep', { files: ['a', 'b'], count: 2 }, 'a\nb'],
  ['grep', { counts: [{ file: 'a', count: 3 }], count: 1 }, 'a:3'],
  ['grep', { matches: [], count: 0 }, '(no matches)'],
  ['shell_exec', { ...PROGRAM, stdout: 'hi\n' }, 'hi'],
  ['shell_exec', PROGRAM, '(no output)'],
  ['shell_exec', { ...PROGRAM, stdout: 'a\n\n', stderr: 'b\n', code: 3 }, 'a\n\n[stderr]\nb\n[exit code 3]'],
  [
    'shell_exec',
    { ...PROGRAM, code: 137, signal: 'SIGKILL', limit: 'memory' },
    '[ended by the limit on memory]\n[ended by SIGKILL]',
  ],
  [
    'shell_exec',
    {
      ...PROGRAM,
      connections: [
        { host: 'h', port: 443, outcome: 'denied', message: 'not allowed', admit: 'network: x\n' },
      ],
    },
    '[connection to h:443: not allowed]\n[the user can allow it by adding to haft.yaml:]\nnetwork: x',
  ],
  [
    'curl',
    {
      ...{ status: 200, url: 'https://h/', redirects: [], body_b64: 'aGk=' },
      headers: { 'content-type': 'text/plain', via: ['a', 'b'] },
    },
    'HTTP 200 https://h/\ncontent-type: text/plain\nvia: a\nvia: b\n\nhi',
  ],
  [
    'curl',
    { status: 200, url: 'https://h/', redirects: [], body_b64: 'AP8=', headers: {} },
    'HTTP 200 https://h/\n\n[not text: 2 bytes, as base64]\nAP8=',
  ],
  [
    'file_write',
    { written: true, created: true, bytes: 2, sha256: SUM },
    `Created a.txt (2 bytes, sha256 ${SUM})`,
    { path: 'a.txt' },
  ],
  [
    'file_write',
    {
      written: false,
      created: true,
      bytes: 2,
      sha256: SUM,
      dry_run: true,
      changes: [{ path: 'a', change: 'create' }],
      diff: '+x\n',
    },
    'Dry run, nothing was changed:\nwould create a\n+x',
  ],
  [
    'file_patch',
    {
      files: [
        {
          path: 'b',
          from: 'a',
          change: 'rename',
          hunks_applied: 1,
          moved: [{ hunk: 1, line: 9, offset: 2 }],
        },
      ],
    },
    'Renamed a to b (1 hunk; hunk 1 at line 9, not where it said)',
  ],
  ['fs_move', { moved: true }, 'Moved a to b', { src: 'a', dst: 'b' }],
  ['fs_delete', { deleted: false }, 'Nothing was there to delete: a', { path: 'a' }],
  ['undo', { undone: true, restored: ['a'], removed: ['b'] }, 'Restored a\nRemoved b'],
  ['slurm_job_get', { run_id: 'run_1', state: 'queued' }, '{"run_id":"run_1","state":"queued"}'],
];

describe('answerText', () => {
  for (const [id, data, text, args = {}] of CASES)
    it(`shows ${id} as ${JSON.stringify(text.slice(0, 60))}`, () => {
      const tool = BUILTIN_TOOLS.find((one) => one.id === id)!;
      assert.equal(answerText(tool, data as JsonObject, args).text, text);
    });

  it('knows a tool that a program brings by its fields, not by its name alone', () => {
    const own = (id: string) => ({ ...BUILTIN_TOOLS[0]!, id });
    assert.equal(answerText(own('file_edit'), { ok: 1 }, {}).text, '{"ok":1}');
    const edited = { edited: true, replacements: 2, lines: [3, 9], sha256: SUM };
    assert.equal(
      answerText(own('file_edit'), edited, { path: 'a' }).text,
      `Edited a: 2 replacements at line 3, 9 (sha256 ${SUM})`,
    );
    const output = [
      { stream: 'stdout', text: 'a\n' },
      { stream: 'stderr', text: 'b\n' },
    ];
    const read = { output, next: 4, lost: 0, more: false, running: true };
    assert.equal(
      answerText(own('shell_read'), read, {}).text,
      'a\n[stderr]\nb\n[running; read on with since 4]',
    );
    const ended = { output: [], next: 4, lost: 2, more: false, running: false, code: 3 };
    assert.equal(
      answerText(own('shell_read'), ended, {}).text,
      '[2 bytes before this are gone]\n[exit code 3; read on with since 4]',
    );
  });

  it('says of each field that the text leaves out that it does', () => {
    const { shows } = answerText(BUILTIN_TOOLS.find(({ id }) => id === 'shell_exec')!, PROGRAM, {});
    assert.deepEqual(shows, ['stdout', 'stderr']);
  });

  it('shows the field that a tool names, a list line by line, and JSON where that field is empty beside others', () => {
    const named = { ...BUILTIN_TOOLS[0]!, id: 'own.tool', textField: 'text' };
    assert.deepEqual(answerText(named, { text: 'x', more: 1 }, {}), { text: 'x', shows: ['text'] });
    assert.equal(answerText(named, { text: ['x', 'y'] }, {}).text, 'x\ny');
    assert.equal(answerText(named, { text: '', structured: 1 }, {}).text, '{"text":"","structured":1}');
    assert.equal(answerText(undefined, { a: 1 }, {}).text, '{"a":1}');
  });
});
