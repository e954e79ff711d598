// Owns: what `haft` alone says, that looking leaves nothing behind, and how a call that is to be undone is found.
// Refuses: what undo does to files; policy-commands.test.ts has it.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import '../../src/preset/trust/trust-for-tests.ts';
import { cli, cliJson } from './support/cli.ts';
import { haft } from './support/haft.ts';
import { onTerminal } from './support/on-terminal.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

const LOOKS: readonly string[] = [
  '',
  'status',
  'tools list',
  'tools show grep',
  'tools search read',
  'tools health',
  'tools config',
  'policy check',
  'policy explain file_read {"path":"a"}',
  'policy suggest',
  'policy diff',
  'approvals list',
  'audit list',
  'audit head',
  'audit verify',
  'audit export',
  'runs list',
  'artifacts list',
  'artifacts verify',
  'sessions list',
  'credentials list',
  'credentials check',
  'undo --list',
  'gc --dry-run',
];

describe('commands that only look', () => {
  const bare = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-bare-')));
  after(() => rmSync(bare, { recursive: true }));

  it('make no .haft in a folder that has none, and leave nothing elsewhere', async () => {
    const workspace = makeWorkspace({ 'haft.yaml': 'version: 1\n' });
    const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith('haft-look-')).length;
    const before = left();
    for (const line of LOOKS) {
      const { status, stderr } = await cli(workspace.root, ...line.split(' ').filter(Boolean));
      assert.equal(status, 0, `${line}: ${stderr}`);
      assert.deepEqual(readdirSync(workspace.root), ['haft.yaml'], line);
    }
    assert.ok(left() <= before, 'no temporary state stays');
    workspace.remove();
  });

  it('say where there is no workspace that there is none, and name haft init', async () => {
    for (const line of ['audit list', 'audit verify', 'approvals list', 'runs list', 'sessions list']) {
      const { status, stderr } = await haft(line.split(' '), { cwd: bare });
      assert.equal(status, 2, line);
      assert.match(stderr, /there is no workspace here: .*; "haft init" makes one/, line);
    }
    const { shown } = await onTerminal(['tools', 'search', 'read', '--color', 'never'], { cwd: bare });
    assert.match(shown, /there is no workspace here.*"haft init" makes one\n/);
    assert.match(shown, /\bfile_read\b/);
    assert.deepEqual(readdirSync(bare), []);
  });

  it('haft alone says so, too, and exits with 0', async () => {
    const { status, stdout } = await haft([], { cwd: bare });
    assert.equal(status, 0);
    assert.match(stdout, /^Workspace {2}none: neither haft\.yaml nor \.haft/);
    assert.match(stdout, /\n {2}haft init {2}write a haft\.yaml/);
    const document = JSON.parse((await haft(['--json'], { cwd: bare })).stdout);
    assert.equal(document.next[0].command, 'haft init');
    assert.deepEqual(readdirSync(bare), []);
  });
});

describe('haft in a workspace', () => {
  let workspace: Workspace;
  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml':
        "version: 1\nshell_allow: ['^echo']\ntools:\n  rules:\n    - { tool: fs_delete, decision: ask }\n",
    });
    const { root } = workspace;
    await cli(root, 'call', 'file_write', 'path=a.txt', 'content=one');
    await cli(root, 'call', 'file_write', 'path=b.txt', 'content=two');
    await cli(root, 'call', 'fs_delete', 'path=b.txt');
    await cli(root, 'call', 'shell_exec', 'cmd=rm a.txt');
  });
  after(() => workspace.remove());

  it('says where it is, what waits, what was last called and what to do next', async () => {
    const { stdout } = await cli(workspace.root);
    for (const line of [
      `Workspace  ${workspace.root}`,
      'Policy     haft.yaml, trusted',
      'Approvals  1 call pending',
      /\n {2}\S+ {2}file_write {2}write b\.txt {2,}ok\n/,
      /\n {2}haft approvals list {2,}a call waits for you\n/,
      /\n {2}haft policy suggest /,
    ])
      assert.ok(
        typeof line === 'string' ? stdout.includes(line) : line.test(stdout),
        `${line} in\n${stdout}`,
      );
    const { document } = await cliJson(workspace.root, 'status');
    assert.equal(document.policy, 'trusted');
    assert.equal(document.pending_approvals, 1);
    assert.deepEqual(document.last_calls.at(-1).outcome, 'denied');
  });

  it('says what haft trust is for where the policy is not trusted', async () => {
    const other = makeWorkspace();
    other.put('haft.yaml', 'version: 1\n');
    const { stdout } = await haft([], { cwd: other.root, env: { XDG_CONFIG_HOME: other.path('config') } });
    assert.match(stdout, /Policy {5}haft\.yaml, not trusted\n/);
    assert.match(stdout, /haft trust {2,}nothing can be called/);
    other.remove();
  });

  it('says what is wrong with a policy that cannot be read', async () => {
    const other = makeWorkspace({ 'haft.yaml': 'version: 1\nnope: 1\n' });
    const { status, stdout } = await cli(other.root);
    assert.equal(status, 0);
    assert.match(stdout, /Policy {5}haft\.yaml has problems\n/);
    assert.match(stdout, /nope/);
    assert.match(stdout, /\n {2}haft policy check {2}/);
    other.remove();
  });

  it('lists in the audit what each call touched', async () => {
    const { stdout } = await cli(workspace.root, 'audit', 'list');
    const [header, ...rows] = stdout.trimEnd().split('\n');
    assert.match(
      header!,
      /^SEQ {2,}WHEN {2,}TOOL {2,}TOUCHED {2,}OUTCOME {2,}CALL {2,}PHASE {2,}RULE {2,}BY$/,
    );
    assert.ok(
      rows.some((row) => / file_write {2,}write a\.txt {2,}ok /.test(row)),
      stdout,
    );
    assert.ok(
      rows.some((row) => / shell_exec {2,}run rm a\.txt.* denied \(shell\.not_allowed\)/.test(row)),
      stdout,
    );
    const { shown } = await onTerminal(['audit', 'list', '--color', 'never'], {
      cwd: workspace.root,
      columns: 90,
    });
    for (const line of shown.trimEnd().split('\n')) assert.ok(line.length <= 90, line);
    assert.match(shown, /^SEQ {2,}WHEN {2,}TOOL {2,}TOUCHED {2,}OUTCOME {2,}CALL\n/);
  });

  it('shows local time on a terminal, UTC where it is asked for and in pipes', async () => {
    const at = { cwd: workspace.root, columns: 200, env: { TZ: 'Asia/Kolkata' } };
    const [{ document }, local, utc] = await Promise.all([
      cliJson(workspace.root, 'audit', 'list', '--last', '1'),
      onTerminal(['audit', 'list', '--last', '1'], at),
      onTerminal(['audit', 'list', '--last', '1', '--utc'], at),
    ]);
    const started = new Date(document.rows[0].start_ts);
    assert.ok(utc.shown.includes(started.toISOString()), utc.shown);
    const shifted = new Date(started.getTime() + 5.5 * 3_600_000).toISOString();
    assert.ok(local.shown.includes(` ${shifted.slice(11, 19)} `), local.shown);
  });

  it('draws how far long work is where somebody waits, and takes it away again', async () => {
    const at = { cwd: workspace.root };
    const long = ['artifacts', 'import', '-'];
    const { shown } = await onTerminal(long, at, '< haft.yaml');
    assert.match(shown, /^\r\u001b\[Kread \d+ B\r\u001b\[Ksha256:[0-9a-f]{64}\n$/);
    assert.match((await onTerminal([...long, '--quiet'], at, '< haft.yaml')).shown, /^sha256:/);
    assert.match((await onTerminal(long, at, '< haft.yaml 2>/dev/null')).shown, /^sha256:/);
  });

  it('undo finds the last call, a call by the beginning of its id, and lists what can be undone', async () => {
    const { root } = workspace;
    const { document } = await cliJson(root, 'undo', '--list');
    assert.deepEqual(
      document.calls.map(({ tool, paths }: { tool: string; paths: string[] }) => [tool, ...paths]),
      [
        ['file_write', 'b.txt'],
        ['file_write', 'a.txt'],
      ],
    );
    const listed = (await cli(root, 'undo', '--list')).stdout;
    assert.match(listed, /^CALL {2,}WHEN {2,}TOOL {2,}CHANGED\ncall_\w+ .* b\.txt\ncall_\w+ .* a\.txt\n$/);
    const [{ call_id: second }, { call_id: first }] = document.calls;

    const ambiguous = await cli(root, 'undo', 'call_');
    assert.equal(ambiguous.status, 2);
    assert.match(
      ambiguous.stderr,
      /2 calls begin so: call_\w+ \(file_write b\.txt\), call_\w+ \(file_write a\.txt\)/,
    );
    assert.match((await cli(root, 'undo')).stderr, /name one call, or take --last/);
    assert.match((await cli(root, 'undo', first, '--last')).stderr, /name one call, or take --last/);
    assert.match((await cli(root, 'undo', 'zzzz')).stderr, /\[E_VALIDATION_FAIL undo\.unknown\]/);

    assert.match((await cli(root, 'undo', '--last')).stdout, /removed b\.txt\n/);
    const shared = [...first].findIndex((letter, i) => letter !== second[i]);
    assert.match(
      (await cli(root, 'undo', first.slice('call_'.length, shared + 1))).stdout,
      /removed a\.txt\n/,
    );
    assert.equal((await cli(root, 'undo', '--list')).stdout, 'Nothing to undo.\n');
    assert.match((await cli(root, 'undo', '--last')).stderr, /there is none to take back/);
  });
});
