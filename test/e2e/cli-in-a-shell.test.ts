// Owns: the command line among other programs: pipes that close early, arguments from a pipe, completion in a shell.
// Refuses: what a command answers; that is told beside the commands.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { haft, startHaft } from './support/haft.ts';
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

  it('completes commands, their words and their flags in bash', async () => {
    const { stdout: script } = await haft(['completion', 'bash'], { cwd: cwd() });
    const complete = (...words: string[]) => {
      const ask = `${script}
COMP_WORDS=(haft "$@"); COMP_CWORD=$#; COMPREPLY=(); _haft; echo "\${COMPREPLY[*]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-u', '-c', ask, 'bash', ...words], { encoding: 'utf8' });
      assert.equal(stderr, '');
      return stdout.trim();
    };
    assert.equal(complete('aud'), 'audit');
    assert.equal(complete('audit', 'ver'), 'verify');
    assert.equal(complete('audit', 'verify', '--he'), '--head --help');
    assert.equal(
      complete('completion', ''),
      'bash zsh fish --json --workspace --trust --frozen --color --utc --verbose --quiet --help',
    );
    assert.equal(complete('mcp', 'ins'), 'install');
    assert.equal(complete('mcp', 'install', 'c'), 'claude codex cursor');
    assert.equal(complete('nothing', ''), '');
  });
});
