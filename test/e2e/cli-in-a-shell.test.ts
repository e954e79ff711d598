// Owns: the command line among other programs: pipes that close early, arguments from a pipe, completion in a shell.
// Refuses: what a command answers; that is told beside the commands.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { haft, NODE_ARGS, startHaft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

describe('haft in a shell', () => {
  let workspace: Workspace;
  before(() => {
    workspace = makeWorkspace({ 'a.txt': 'one\n' });
  });
  after(() => workspace.remove());
  const cwd = () => workspace.root;

  it('takes arguments from a pipe, larger than any pipe holds', async () => {
    const content = 'x'.repeat(1024 * 1024);
    const stdin = JSON.stringify({ path: 'big.txt', content });
    const { status, stdout } = await haft(['call', 'file_write', '-'], { cwd: cwd(), stdin });
    assert.equal(status, 0);
    assert.equal(JSON.parse(stdout).data.bytes, content.length);
  });

  it('ends quietly when its reader goes away', async () => {
    const child = startHaft(['call', 'file_read', '{"path":"big.txt","max_bytes":2000000}'], { cwd: cwd() });
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const status = await new Promise((resolve) => child.once('close', resolve));
    assert.deepEqual([status, err], [0, '']);
  });

  it('audit tail ends once a row finds no reader', async () => {
    const child = startHaft(['audit', 'tail'], { cwd: cwd() });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.destroy();
    await haft(['call', 'file_read', '{"path":"a.txt"}'], { cwd: cwd() });
    assert.equal(await ended, 0);
  });

  it('writes logs and errors to standard error only, and exits with the code of the table', async () => {
    const { status, stdout, stderr } = await haft(['call', 'file_read', '{"path":"../x"}', '--json'], {
      cwd: cwd(),
    });
    assert.equal(status, 3);
    assert.equal(stderr, '');
    assert.equal(JSON.parse(stdout).errors[0].reason, 'path.outside_workspace');
  });

  it('works in a folder below the workspace', async () => {
    workspace.put('haft.yaml', 'version: 1\n');
    workspace.put('deep/er/b.txt', 'two\n');
    const { stdout } = await haft(['call', 'file_read', '{"path":"a.txt"}'], {
      cwd: workspace.path('deep/er'),
    });
    assert.equal(JSON.parse(stdout).data.content, 'one\n');
  });

  it('completes commands, flags, tools, arguments and ids in bash', async () => {
    const { stdout: script } = await haft(['completion', 'bash'], { cwd: cwd() });
    const words = [process.execPath, ...NODE_ARGS].map((word) => `'${word}'`).join(' ');
    const complete = (...typed: string[]) => {
      const ask = `haft() { ${words} "$@"; }
${script}
COMP_WORDS=(haft "$@"); COMP_CWORD=$#; COMPREPLY=(); _haft; echo "\${COMPREPLY[*]}"`;
      const run = ['-u', '-c', ask, 'bash', ...typed];
      const { stdout, stderr } = spawnSync('bash', run, { encoding: 'utf8', cwd: cwd() });
      assert.equal(stderr, '');
      return stdout.trim();
    };
    const written = await haft(['call', 'file_write', 'path=c.txt', 'content=x'], { cwd: cwd() });
    const { call_id } = JSON.parse(written.stdout);
    const COMPLETED: readonly (readonly [typed: readonly string[], offered: string])[] = [
      [['aud'], 'audit'],
      [['audit', 'ver'], 'verify'],
      [['--workspace', '.', 'audit', 'ver'], 'verify'],
      [['audit', 'verify', '--he'], '--head --help'],
      [['audit', 'list', '--outcome', 'den'], 'denied'],
      [['audit', 'list', '--color', 'a'], 'auto always'],
      [['completion', ''], 'bash zsh fish'],
      [['call', 'file_r'], 'file_read'],
      [['tools', 'show', 'gre'], 'grep'],
      [['call', 'grep', 'pat'], 'pattern='],
      [['call', 'grep', 'pattern=x', 'pat'], ''],
      [['call', 'grep', 'mode='], 'mode=matches mode=files mode=count'],
      [['undo', call_id.slice(0, 12)], call_id],
      [['mcp', 'ins'], 'install'],
      [['mcp', 'install', 'c'], 'claude codex cursor'],
      [['nothing', ''], ''],
    ];
    for (const [typed, offered] of COMPLETED) assert.equal(complete(...typed), offered, typed.join(' '));
  });
});
