// Owns: the proof that `haft policy …` and `haft undo` say and do what they promise, with the exit codes that scripts rely on.
// Refuses: to test how policy decides; that is tested beside it.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { ERRORS } from '../../src/index.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const POLICY = `version: 1
paths:
  rules:
    - { path: "private/**", read: deny, write: deny }
    - { path: "src/**", write: ask }
tools:
  rules:
    - { tool: fs_delete, decision: deny }
`;

async function using(
  files: Record<string, string>,
  work: (workspace: Workspace) => Promise<void>,
): Promise<void> {
  const workspace = makeWorkspace({ 'private/key': 'k\n', 'src/a.txt': 'a\n', ...files });
  try {
    await work(workspace);
  } finally {
    workspace.remove();
  }
}

const READ_KEY = ['call', 'file_read', '{"path":"private/key"}'];

const INITIALIZE = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  },
  { id: 2, method: 'tools/call', params: { name: 'fs_list', arguments: {} } },
]
  .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  .join('');

describe('haft policy check', () => {
  it('is 0 for a good file and 2 for a bad one, which need not be the one in force', () =>
    using({ 'haft.yaml': POLICY, 'other.yaml': 'version: 1\npathz: {}\n' }, async ({ root }) => {
      assert.equal((await haft(['policy', 'check'], { cwd: root })).status, 0);
      const other = await haft(['policy', 'check', 'other.yaml'], { cwd: root });
      assert.equal(other.status, ERRORS['policy.invalid'].exit);
      assert.match(other.stderr, /other\.yaml:2:1: error key\.unknown.*\n {2}hint: did you mean paths\?/);
      assert.equal((await cliJson(root, 'policy', 'check')).document.ok, true);
    }));

  const WRONG: readonly (readonly [packs: string, said: readonly RegExp[]])[] = [
    ['[{}]', [/haft\.yaml:2:9: error pack\.invalid: .*one of path, mcp, stdio/]],
    ['[none, none]', [/haft\.yaml:2:15: error pack\.invalid: .*two packs of the name "none"/]],
    ['[{ name: a, mcp: { comand: [x] } }]', [/haft\.yaml:2:\d+: error pack\.invalid: .*"a".*comand/]],
    ['[{ name: a, mcp: { url: example.org } }]', [/haft\.yaml:2:\d+: error pack\.invalid: .*mcp\/url /]],
    ['[{ name: a, stdio: { command: [] } }]', [/error pack\.invalid: .*stdio\/command /]],
    ['[{ name: a, stdio: { command: [x], env: { passthrough: [HAFT_KEY] } } }]', [/HAFT_KEY/]],
    ['[{ path: none, name: "A B" }]', [/haft\.yaml:2:9: error pack\.invalid: .*needs a name/]],
    ['[nope]', [/haft\.yaml:2:9: error pack\.missing: .*"nope": there is no such folder/]],
    ['[a.txt]', [/haft\.yaml:2:9: error pack\.not_directory/]],
    ['[bad]', [/bad\/x\.tool\.yaml:1:\d+: error /]],
    ['[{}, nope]', [/haft\.yaml:2:9: error/, /haft\.yaml:2:13: error/]],
  ];
  for (const [packs, said] of WRONG)
    it(`tells what a start would refuse of packs: ${packs}`, () => {
      const text = `version: 1\npacks: ${packs}\n`;
      const files = { 'haft.yaml': text, 'a.txt': '', 'none/README': '', 'bad/x.tool.yaml': 'id: 1\n' };
      return using(files, async ({ root }) => {
        const { status, stderr } = await cli(root, 'policy', 'check');
        assert.equal(status, ERRORS['policy.invalid'].exit, stderr);
        for (const pattern of said) assert.match(stderr, pattern);
        assert.equal((await cliJson(root, 'policy', 'check')).document.ok, false);
        assert.notEqual((await cli(root, 'call', 'fs_list')).status, 0);
      });
    });

  it('is content with packs that a start takes', () => {
    const packs =
      '[none, { path: nope, enabled: false }, { name: a, stdio: { command: [no-such-program] } }]';
    const files = { 'haft.yaml': `version: 1\npacks: ${packs}\n`, 'none/README': '' };
    return using(files, async ({ root }) => {
      assert.equal((await cli(root, 'policy', 'check')).status, 0);
      assert.equal((await cli(root, 'call', 'fs_list')).status, 0);
    });
  });

  it('names what has no effect, as a host that stays does when it starts', () => {
    const text =
      'version: 1\ngit: { allow_push: true }\nast: { language: rust }\nvalidators:\n' +
      '  - { rule: sec.shell.allowlist, enforcement: blocking }\n  - { rule: lint.must.pass, enforcement: warning }\n';
    return using({ 'haft.yaml': text }, async ({ root }) => {
      const { status, stderr } = await cli(root, 'policy', 'check');
      assert.equal(status, 0);
      const named = [
        /warning key\.no_effect: git\.allow_push has no effect yet/,
        /warning key\.no_effect: ast\.language has no effect yet/,
        /warning key\.no_effect: validators\[0\]: sec\.shell\.allowlist has no effect here, because it always holds/,
        /warning rule\.unavailable: validators\[1\]: lint\.must\.pass is not built into this version/,
      ];
      const mcp = await haft(['mcp'], { cwd: root, stdin: INITIALIZE });
      for (const pattern of named) {
        assert.match(stderr, pattern);
        assert.match(mcp.stderr, pattern);
      }
      const call = await haft(['call', 'fs_list', '--json'], { cwd: root });
      assert.deepEqual([call.status, call.stderr], [0, '']);
    });
  });

  it('runs the examples of the rules', () =>
    using({}, async ({ root, put }) => {
      const rule = (examples: string) =>
        `version: 1\npaths:\n  rules:\n    - path: "private/**"\n      read: deny\n      examples: ${examples}\n`;
      put('haft.yaml', rule('{ deny: [private/key], allow: [src/a.txt] }'));
      assert.equal((await cli(root, 'policy', 'check')).status, 0);
      put('haft.yaml', rule('{ allow: [private/key] }'));
      const { status, stderr } = await cli(root, 'policy', 'check');
      assert.equal(status, 2);
      assert.match(stderr, /haft\.yaml:6:\d+: error example/);
    }));
});

describe('haft policy explain', () => {
  it('names the rule, its line and what would admit the call, and makes no call', () =>
    using({ 'haft.yaml': POLICY }, async ({ root }) => {
      const { status, stdout } = await cli(root, 'policy', 'explain', 'file_read', '{"path":"private/key"}');
      assert.equal(status, 0);
      assert.match(stdout, /deny +paths\.rules\[0\] \(haft\.yaml line 4\)/);
      assert.match(stdout, /path: 'private\/\*\*'\n +read: allow/);
      const { document } = await cliJson(
        root,
        'policy',
        'explain',
        'file_write',
        '{"path":"src/a.txt","content":""}',
      );
      assert.deepEqual([document.decision.verdict, document.decision.line], ['ask', 5]);
      const allowed = await cliJson(root, 'policy', 'explain', 'file_read', '{"path":"src/a.txt"}');
      assert.equal(allowed.document.decision.verdict, 'allow');
      assert.match((await cli(root, 'audit', 'list')).stdout, /No calls yet/);
    }));

  it('says when nothing can admit a call, and when the call is none', () =>
    using({ 'haft.yaml': POLICY }, async ({ root }) => {
      const { document } = await cliJson(
        root,
        'policy',
        'explain',
        'file_write',
        '{"path":"haft.yaml","content":""}',
      );
      assert.deepEqual([document.decision.verdict, document.decision.admit], ['deny', undefined]);
      assert.equal((await cli(root, 'policy', 'explain', 'file_read', '{"pth":1}')).status, 2);
      assert.equal((await cli(root, 'policy', 'explain', 'no_such_tool')).status, 2);
      assert.equal((await cli(root, 'policy', 'explain', 'file_read', '{')).status, 2);
    }));
});

describe('haft policy suggest', () => {
  it('proposes lines that admit what was denied, once they are in haft.yaml', () =>
    using({ 'haft.yaml': 'version: 1\ntools: { default: deny }\n' }, async ({ root, put, path }) => {
      const calls = [READ_KEY, ['call', 'fs_list', '{}'], ['call', 'file_read', '{"path":"src/a.txt"}']];
      for (const call of calls) assert.equal((await cli(root, ...call)).status, ERRORS['policy.denied'].exit);
      const { status, document } = await cliJson(root, 'policy', 'suggest');
      assert.equal(status, 0);
      assert.deepEqual(
        document.suggestions.map((one: { calls: number; tools: string[] }) => [one.calls, one.tools]),
        [
          [2, ['file_read']],
          [1, ['fs_list']],
        ],
      );
      put('haft.yaml', `version: 1\n${document.admit}`);
      assert.equal((await cli(root, 'policy', 'check')).status, 0, readFileSync(path('haft.yaml'), 'utf8'));
      for (const call of calls) assert.equal((await cli(root, ...call)).status, 0);
      assert.deepEqual((await cliJson(root, 'policy', 'suggest')).document.suggestions, []);
    }));

  it('prints one piece to paste, with each line once and the calls that want it', () =>
    using({ 'haft.yaml': 'version: 1\n' }, async ({ root, put }) => {
      const commands = ['ls', 'ls', 'ls | wc', 'npm ci'];
      for (const cmd of commands) await cli(root, 'call', 'shell_exec', JSON.stringify({ cmd }));
      const { stdout } = await cli(root, 'policy', 'suggest');
      assert.deepEqual(stdout.split('\n').slice(0, -1), [
        '# 4 calls were not admitted. Merge these lines into haft.yaml; where an entry is there already, change it: the strictest one counts.',
        'shell_allow:',
        "  - '^ls$'  # 3 calls of shell_exec",
        "  - '^wc$'  # 1 call of shell_exec",
        "  - '^npm ci(\\s|$)'  # 1 call of shell_exec",
      ]);
      put('haft.yaml', `version: 1\n${stdout}`);
      assert.match((await cli(root, 'policy', 'suggest')).stdout, /^Nothing to suggest\.$/m);
    }));

  it('proposes nothing for what nothing can admit', () =>
    using({ 'haft.yaml': POLICY }, async ({ root }) => {
      await cli(root, 'call', 'file_read', '{"path":".haft/haft.db"}');
      await cli(root, 'call', 'file_write', '{"path":"haft.yaml","content":""}');
      const { status, stdout } = await cli(root, 'policy', 'suggest');
      assert.equal(status, 0);
      assert.match(
        stdout,
        /^Nothing to suggest\.\n# 2 calls of file_read, file_write .*nothing in haft\.yaml admits them/,
      );
    }));

  it('counts paths outside of the workspace, and says why no line is offered and how to allow one', () =>
    using({ 'haft.yaml': 'version: 1\n' }, async ({ root, put }) => {
      const paths = ['/etc/hostname', '../y.txt', '../../z/q.txt', '/foo'];
      for (const path of paths) {
        const { status, document } = await cliJson(root, 'call', 'file_read', JSON.stringify({ path }));
        assert.deepEqual([status === 0, document.errors[0].reason], [false, 'path.outside_workspace']);
      }
      await cli(root, 'call', 'shell_exec', '{"cmd":"npm ci"}');
      const { stdout } = await cli(root, 'policy', 'suggest');
      assert.match(stdout, /# 4 calls of file_read were denied.*outside of the workspace[\s\S]*extra_roots/);
      assert.match(stdout, /npm ci/);
      for (const path of paths) assert.ok(!stdout.includes(path), 'the audit does not keep it');
      assert.deepEqual((await cliJson(root, 'policy', 'suggest')).document.unoffered, [
        { reason: 'path.outside_workspace', calls: 4, tools: ['file_read'] },
      ]);
      put('haft.yaml', `version: 1\n${stdout}`);
      assert.equal((await cli(root, 'policy', 'check')).status, 0, 'it can be pasted as it is');
    }));
});

describe('haft policy hash', () => {
  it('is about the meaning: comments and order change nothing, a rule does', () =>
    using({ 'haft.yaml': POLICY }, async ({ root, put }) => {
      const hash = async (...tool: string[]) => (await cli(root, 'policy', 'hash', ...tool)).stdout.trim();
      const [whole, ofRead] = [await hash(), await hash('file_read')];
      assert.match(whole, /^[0-9a-f]{64}$/);
      const [head, ...rest] = POLICY.split('tools:');
      put('haft.yaml', `# a comment\nversion: 1\ntools:${rest[0]}${head!.replace('version: 1\n', '')}`);
      assert.equal(await hash(), whole);
      put('haft.yaml', POLICY.replace('fs_delete', 'fs_move'));
      assert.notEqual(await hash(), whole);
      assert.equal(await hash('file_read'), ofRead, 'another tool does not matter');
      put('haft.yaml', POLICY.replace('read: deny', 'read: allow'));
      assert.notEqual(await hash('file_read'), ofRead);
    }));

  it('has none for a tool that there is not, and names the nearest', () =>
    using({ 'haft.yaml': POLICY }, async ({ root }) => {
      const { status, stdout, stderr } = await cli(root, 'policy', 'hash', 'file_raed');
      assert.deepEqual([status, stdout], [2, '']);
      assert.match(stderr, /no such tool; did you mean "file_read"\?.*tool\.unknown/);
    }));
});

describe('haft policy replay', () => {
  it('is 0 where nothing would change, 1 and a list where something would, 2 for a bad file', () =>
    using(
      { 'haft.yaml': POLICY, 'open.yaml': 'version: 1\n', 'bad.yaml': 'version: 7\n' },
      async ({ root }) => {
        await cli(root, ...READ_KEY);
        await cli(root, 'call', 'fs_delete', '{"path":"src/a.txt"}');
        await cli(root, 'call', 'file_read', '{"path":"src/a.txt"}');
        await cli(root, 'call', 'file_read', '{"pth":1}');
        assert.equal((await haft(['policy', 'replay', 'haft.yaml'], { cwd: root })).status, 0);
        const open = await haft(['policy', 'replay', 'open.yaml', '--json'], { cwd: root });
        assert.equal(open.status, 1);
        const { looked_at, changes } = JSON.parse(open.stdout);
        assert.equal(looked_at, 4);
        assert.deepEqual(
          changes.map((one: { seq: number; before: string; after: { verdict: string } }) => [
            one.seq,
            one.before,
            one.after.verdict,
          ]),
          [
            [1, 'deny', 'allow'],
            [2, 'deny', 'allow'],
          ],
        );
        assert.match((await cli(root, 'policy', 'replay', 'open.yaml')).stdout, /file_read +deny → allow/);
        assert.equal((await cli(root, 'policy', 'replay', 'open.yaml', '--last', '2')).status, 0);
        assert.equal((await cli(root, 'policy', 'replay', 'bad.yaml')).status, 2);
        assert.equal((await cli(root, 'policy', 'replay', 'missing.yaml')).status, 2);
        assert.equal((await cli(root, 'policy', 'replay', 'open.yaml', '--last', 'x')).status, 2);
      },
    ));
});

describe('haft undo', () => {
  const call = async (root: string, tool: string, args: object): Promise<string> => {
    const { status, document } = await cliJson(root, 'call', tool, JSON.stringify(args));
    assert.equal(status, 0, JSON.stringify(document));
    return document.call_id;
  };

  it('takes a call back, and an undo, and the undo of that', () =>
    using({ 'f.txt': 'old\n' }, async ({ root, path }) => {
      chmodSync(path('f.txt'), 0o640);
      const content = () => readFileSync(path('f.txt'), 'utf8');
      let id = await call(root, 'file_write', { path: 'f.txt', content: 'new\n', mode_octal: '0600' });
      const first = await haft(['undo', id, '--json'], { cwd: root });
      assert.equal(first.status, 0, first.stdout);
      assert.deepEqual(JSON.parse(first.stdout).data, { undone: true, restored: ['f.txt'] });
      id = JSON.parse(first.stdout).call_id;
      for (const [expected, mode] of [
        ['new\n', 0o600],
        ['old\n', 0o640],
        ['new\n', 0o600],
      ] as const) {
        const { status, document } = await cliJson(root, 'undo', id);
        assert.equal(status, 0);
        assert.equal(content(), expected);
        assert.equal(statSync(path('f.txt')).mode & 0o777, mode);
        id = document.call_id;
      }
      assert.equal((await cli(root, 'audit', 'verify')).status, 0);
    }));

  it('refuses with the difference when the file changed since, and leaves it', () =>
    using({ 'f.txt': 'old\n' }, async ({ root, path, put }) => {
      const id = await call(root, 'file_write', { path: 'f.txt', content: 'new\n' });
      put('f.txt', 'newer\n');
      const { status, document } = await cliJson(root, 'undo', id);
      assert.equal(status, ERRORS['undo.conflict'].exit);
      assert.equal(document.errors[0].reason, 'undo.conflict');
      assert.equal(document.errors[0].details.conflicts[0].path, 'f.txt');
      assert.match((await cli(root, 'undo', id)).stderr, /has other content by now[\s\S]*\n-old\n\+newer\n/);
      assert.equal(readFileSync(path('f.txt'), 'utf8'), 'newer\n');
    }));

  it('brings back trees, names and what was overwritten', () =>
    using(
      { 'tree/a.txt': '1\n', 'tree/sub/b.txt': '2\n', 'old.txt': '3\n', 'over.txt': '4\n' },
      async ({ root, path }) => {
        const deleted = await call(root, 'fs_delete', { path: 'tree', recursive: true });
        const moved = await call(root, 'fs_move', { src: 'old.txt', dst: 'over.txt', overwrite: true });
        const made = await call(root, 'file_write', { path: 'deep/er/new.txt', content: '5\n' });
        for (const id of [made, moved, deleted]) assert.equal((await cli(root, 'undo', id)).status, 0);
        for (const [name, content] of [
          ['tree/a.txt', '1\n'],
          ['tree/sub/b.txt', '2\n'],
          ['old.txt', '3\n'],
          ['over.txt', '4\n'],
        ] as const)
          assert.equal(readFileSync(path(name), 'utf8'), content);
        assert.equal(existsSync(path('deep')), false);
      },
    ));

  it('shows what it would do, and refuses what cannot be undone', () =>
    using({ 'f.txt': 'old\n' }, async ({ root, path }) => {
      const id = await call(root, 'file_write', { path: 'f.txt', content: 'new\n' });
      const dry = await cli(root, 'undo', id, '--dry-run');
      assert.equal(dry.status, 0);
      assert.match(dry.stdout, /-new\n\+old\n[\s\S]*would restore f\.txt/);
      assert.equal(readFileSync(path('f.txt'), 'utf8'), 'new\n');
      const read = await call(root, 'file_read', { path: 'f.txt' });
      const forgotten = await call(root, 'file_write', { path: 'f.txt', content: 'x', no_undo: true });
      for (const one of [read, forgotten, 'call_nobody']) {
        const { status, document } = await cliJson(root, 'undo', one);
        assert.equal(status, ERRORS['undo.unknown'].exit, one);
        assert.equal(document.errors[0].reason, 'undo.unknown');
      }
      await call(root, 'file_write', { path: 'f.txt', content: 'new\n' });
      const { document: undone } = await cliJson(root, 'undo', id);
      const again = await cli(root, 'undo', id);
      assert.equal(again.status, ERRORS['undo.already'].exit);
      assert.match(again.stderr, new RegExp(`already undone, by "${undone.call_id}"`));
    }));

  it('is governed like any call: what may not be written is not restored', () =>
    using({ 'src/b.txt': 'old\n' }, async ({ root, path, put }) => {
      const id = await call(root, 'file_write', { path: 'src/b.txt', content: 'new\n' });
      put('haft.yaml', 'version: 1\npaths: { rules: [{ path: "src/**", write: deny }] }\n');
      const { status } = await cli(root, 'undo', id);
      assert.equal(status, ERRORS['policy.denied'].exit);
      assert.equal(readFileSync(path('src/b.txt'), 'utf8'), 'new\n');
    }));
});
