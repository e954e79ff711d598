// Owns: what the haft.yaml of `haft init` says in practice: what is asked about, what is only marked, what programs meet.
// Not here: that ordinary work goes on under it (ordinary-work.test.ts).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { CallResponse } from '../../src/contract/envelope.ts';
import { createRuntime, type DefaultRuntime } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { haft } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

describe('the policy that haft init writes', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  before(async () => {
    workspace = makeWorkspace({
      'package.json': '{"name":"app","version":"1.0.0"}\n',
      'requirements.txt': '',
      '.npmrc': 'fund=false\n',
      '.husky/pre-commit': 'npm test\n',
      'sub/.vscode/tasks.json': '{}\n',
      'tmp/gh/workflows/ci.yml': 'on: push\n',
      '.env': 'KEY=secret\n',
    });
    const { status, stderr } = await haft(['init'], { cwd: workspace.root });
    assert.equal(status, 0, stderr);
    runtime = await createRuntime({ workspace: workspace.root });
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  const call = (tool: string, args: Record<string, string | boolean>) => runtime.call({ tool, args });
  const shell = (cmd: string) => call('shell_exec', { cmd });
  const write = (path: string) => call('file_write', { path, content: 'x', create_dirs: true });
  const reasonOf = ({ ok, errors }: CallResponse) => (ok ? 'ok' : errors[0]?.reason);

  const ASKED = [
    ...['.npmrc', 'a/b/.npmrc', '.yarnrc.yml', '.cargo/config.toml', '.husky/pre-push', 'a/.husky/_/x'],
    ...['.vscode/settings.json', 'a/.vscode/tasks.json', '.github/workflows/ci.yml', '.mcp.json', '.envrc'],
    ...['node_modules/.bin/tsc', 'a/node_modules/b/index.js', '.venv/bin/python', 'venv/bin/activate'],
    ...[
      '.claude/settings.json',
      '.gitmodules',
      '.pre-commit-config.yaml',
      '.bashrc',
      '.devcontainer/devcontainer.json',
    ],
  ];
  for (const path of ASKED) {
    it(`asks before a tool writes ${path}`, async () => {
      assert.equal(reasonOf(await write(path)), 'approval.pending');
      assert.equal(
        reasonOf(await call('fs_move', { src: 'package.json', dst: path, create_dirs: true })),
        'approval.pending',
      );
    });
  }

  it('asks about no move of other files, and refuses one that would carry such a file to its place', async () => {
    workspace.put('old.txt', 'x');
    assert.equal(reasonOf(await call('fs_move', { src: 'old.txt', dst: 'new.txt' })), 'ok');
    for (const src of ['tmp/gh', 'tmp/moved']) {
      workspace.put('tmp/moved/workflows/ci.yml', 'on: push\n');
      const moved = await call('fs_move', { src, dst: '.github' });
      assert.equal(reasonOf(moved), 'policy.denied');
      assert.match(moved.errors[0]?.message ?? '', /name that path itself/);
    }
    assert.equal(existsSync(workspace.path('.github')), false);
    const carried = await call('fs_copy', { src: 'sub', dst: 'other' });
    assert.equal(reasonOf(carried), 'policy.denied');
    assert.match(carried.errors[0]?.message ?? '', /name that path itself/);
  });

  for (const path of [
    'package.json',
    'app/Makefile',
    'build.rs',
    'Dockerfile',
    'scripts/run.sh',
    '.gitlab-ci.yml',
  ]) {
    it(`lets a tool write ${path}, and the answer and the audit say that people execute it`, async () => {
      const response = await write(path);
      assert.equal(reasonOf(response), 'ok');
      assert.deepEqual(response.warnings, [
        {
          reason: 'file.executed_by_people',
          message: `people or their tools execute this outside of the sandbox: ${path}`,
        },
      ]);
      const rows = await runtime.audit.rows({ callId: response.callId, limit: 10 });
      assert.deepEqual(rows.find(({ phase }) => phase === 'outcome')?.facts, { executed_by_people: [path] });
    });
  }

  it('says nothing of the kind about a source file', async () => {
    assert.equal((await write('src/index.ts')).warnings, undefined);
  });

  const LOOKS = [
    'ls -la',
    'cat package.json | head -n 1 | wc -c',
    'grep -n fund .npmrc',
    'find sub -name "*.json"',
  ];
  for (const cmd of LOOKS)
    it(`lets people look: ${cmd}`, async () => {
      const { ok, data, errors } = await shell(cmd);
      assert.deepEqual([ok && (data as { code: number }).code, errors], [0, []]);
    });

  it('hides secrets from programs that look', async () => {
    assert.doesNotMatch(JSON.stringify(await shell('cat .env')), /secret/);
    const { data } = await shell(`node -e "console.log(require('fs').readFileSync('.env', 'utf8'))"`);
    assert.doesNotMatch(JSON.stringify(data), /secret/);
  });

  const REFUSED = {
    '.npmrc': `node -e "require('fs').writeFileSync('.npmrc', 'x')"`,
    '.husky/pre-commit': `python3 -c "open('.husky/pre-commit', 'w')"`,
    'sub/.vscode/tasks.json': `node -e "require('fs').unlinkSync('sub/.vscode/tasks.json')"`,
  };
  for (const [path, cmd] of Object.entries(REFUSED)) {
    it(`tells a program that may not write ${path} what allows it`, async () => {
      const response = await shell(cmd);
      assert.notEqual((response.data as { code: number } | null)?.code, 0);
      const told = response.warnings?.find(({ reason }) => reason === 'path.fenced')?.message ?? '';
      assert.match(told, /read-only to programs by paths\.rules\[\d+\] \(haft\.yaml line \d+\)/);
      assert.match(told, /- path: '\*\*\/\.\w+'\n {6}write: ask\n {6}programs: allow$/);
      assert.ok(existsSync(workspace.path(path)));
    });
  }

  it("leaves a person's git alone, before, while and after programs run", async () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args], {
        cwd: workspace.root,
        encoding: 'utf8',
      });
    const commit = (name: string) => {
      writeFileSync(workspace.path(name), name);
      git('add', name);
      git('commit', '-q', '-m', name);
    };
    // Programs ran before there was a repository.
    assert.equal(reasonOf(await shell('ls')), 'ok');
    git('init', '-q', '-b', 'main');
    commit('before.txt');
    const running = shell(
      `node -e "const fs = require('fs'); fs.writeFileSync('started', ''); const t = setInterval(() => fs.existsSync('go') && clearInterval(t), 10)"`,
    );
    await eventually(() => existsSync(workspace.path('started')), 'a running program');
    commit('during.txt');
    writeFileSync(workspace.path('go'), '');
    assert.equal(((await running).data as { code: number }).code, 0);
    commit('after.txt');
    const { data } = await shell('git log --format=%s');
    assert.equal((data as { stdout: string }).stdout, 'after.txt\nduring.txt\nbefore.txt\n');
  });
});
