// Owns: what a person sees of `haft call` on a terminal, what a pipe gets, and the exit codes of both.
// Refuses: the envelope itself; the doors' tests have it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { haft } from './support/haft.ts';
import { onTerminal } from './support/on-terminal.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY =
  "version: 1\nshell_allow: ['^echo', '^ls', '^sh ', '^sleep', '^printf', '^cat', '^exit', '^kill']\n";

describe('haft call on a terminal', () => {
  let workspace: Workspace;
  before(() => {
    workspace = makeWorkspace({
      'haft.yaml': POLICY,
      'a.txt': 'one\ntwo three\n',
      'open.txt': 'no end',
      'evil\u001b[2J\r.txt': 'two \u001b]0;title\u0007\u202e\n',
      'data.bin': Uint8Array.of(0, 255, 1),
    });
  });
  after(() => workspace.remove());
  const see = (...args: string[]) => onTerminal(['call', ...args], { cwd: workspace.root });

  const SEEN: readonly (readonly [args: readonly string[], shown: string | RegExp, status?: number])[] = [
    [['file_read', 'path=a.txt'], 'one\ntwo three\n'],
    [['file_read', 'path=a.txt', 'start_line=2', 'end_line=2'], 'two three\n'],
    [['file_read', '{"path":"open.txt"}'], 'no end\n'],
    [['file_read', 'path=data.bin'], /^haft: data\.bin is not text \(3 B\); --json prints it as base64\n$/],
    [
      ['file_read', 'path=a.txt', '--json'],
      /^\{"type":"ToolResponse","ok":true.*"content":"one\\ntwo three\\n"/,
    ],
    [['fs_list'], 'a.txt\ndata.bin\nevil\\u001b[2J\\u000d.txt\nhaft.yaml\nopen.txt\n'],
    [
      ['grep', 'pattern=two', '--color', 'never'],
      'a.txt:2:two three\nevil\\u001b[2J\\u000d.txt:1:two \\u001b]0;title\\u0007\\u202e\n',
    ],
    [['grep', 'pattern=two', 'glob=a.txt'], /^\u001b\[35ma\.txt\u001b\[0m/],
    [
      ['grep', 'pattern=two', 'glob=a.txt', 'context=1', '--color', 'never'],
      'a.txt-1-one\na.txt:2:two three\n--\n',
    ],
    [['grep', 'pattern=two', 'glob=a.txt', 'mode=files', '--color', 'never'], 'a.txt\n'],
    [['grep', 'pattern=o', 'glob=a.txt', 'mode=count', '--color', 'never'], /^a\.txt:\d\n$/],
    [['grep', 'pattern=nowhere'], ''],
    [['file_write', 'path=new.txt', 'content=hi', '-q'], 'written new.txt (2 B)\n'],
    [
      ['file_write', 'path=new.txt', 'content=ho'],
      /^written new\.txt \(2 B\)\nhaft: "haft undo call_\w+" takes this back\n$/,
    ],
    [['fs_move', 'src=new.txt', 'dst=newer.txt', '-q'], 'moved new.txt to newer.txt\n'],
    [['fs_delete', 'path=newer.txt', '-q'], 'deleted newer.txt\n'],
    [['file_read', 'path=a.txt', '--verbose'], /^one\ntwo three\nhaft: call_\w+, file_read, \d+ ms\n$/],
    [['shell_exec', 'cmd=echo hi'], 'hi\n'],
    [['shell_exec', `cmd=sh -c 'echo out; echo err >&2; exit 7'`], 'out\nerr\n', 7],
    [
      ['shell_exec', `cmd=printf '\\033[31mred\\033[0m \\033[2J\\033]0;t\\007'`],
      '\u001b[31mred\u001b[0m \\u001b[2J\\u001b]0;t\\u0007\u001b[0m',
    ],
    [['shell_exec', 'cmd=cat', 'stdin=given'], 'given'],
    [['shell_exec', 'cmd=rm -rf x'], /^haft: Cannot run rm -rf x: .*\[E_POLICY shell\.not_allowed\]/, 125],
    [['shell_exec', 'command=ls'], /did you mean "cmd"\?/, 125],
    [
      ['shell_exec', 'cmd=echo early; sleep 60', 'timeout_ms=700'],
      /^early\n(?:.*\n)*.*longer than 700 ms, and was ended/,
      124,
    ],
    [['file_raed', 'path=a.txt'], /no such tool; did you mean "file_read"\?/, 2],
    [['file_read', 'path=nope'], /^haft: .*nope.*\[E_FILE_IO path\.not_found\]\n {2}Try: .*fs_list.*\n$/, 5],
  ];
  for (const [args, wanted, exit = 0] of SEEN)
    it(`shows ${args.join(' ')}, and exits with ${exit}`, async () => {
      const { status, shown } = await see(...args);
      if (typeof wanted === 'string') assert.equal(shown, wanted);
      else assert.match(shown, wanted);
      assert.equal(status, exit, shown);
    });

  it('writes what a program wrote to its standard error to standard error', async () => {
    const cmd = `cmd=sh -c 'echo out; echo err >&2'`;
    const { shown } = await onTerminal(['call', 'shell_exec', cmd], { cwd: workspace.root }, '2>/dev/null');
    assert.equal(shown, 'out\n');
  });

  it('gives a pipe the envelope, and the exit code of the program all the same', async () => {
    const PIPED: readonly (readonly [args: readonly string[], status: number, stdout: RegExp])[] = [
      [['file_read', 'path=a.txt'], 0, /^\{"type":"ToolResponse","ok":true/],
      [['shell_exec', `cmd=sh -c 'exit 3'`], 3, /^\{"type":"ToolResponse","ok":true.*"code":3/],
      [['shell_exec', `{"cmd":"sh -c 'kill -9 $$'"}`], 137, /"code":137/],
      [['shell_exec', 'cmd=rm'], 125, /"reason":"shell\.not_allowed"/],
      [['shell_exec', '{"cmd":'], 125, /^$/],
      [['shell_exec', '{"cmd":', '--json'], 125, /"reason":"input\.not_json"/],
      [['shell_exec', 'cmd=sleep 60', 'timeout_ms=300', '--json'], 124, /^\{"type":"ToolResponse"/],
    ];
    for (const [args, status, stdout] of PIPED) {
      const ran = await haft(['call', ...args], { cwd: workspace.root });
      assert.equal(ran.status, status, `${args.join(' ')}: ${ran.stderr}`);
      assert.match(ran.stdout, stdout);
    }
  });
});
