import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NO_FENCES } from '../../../contract/capability.ts';
import type { Failure } from '../../../contract/errors.ts';
import { type ProgramFixture, withPrograms } from '../programs-for-tests.ts';
import { createFenceFinder } from './find-fences.ts';
import { withTree } from './trees-for-tests.ts';

const shell = ({ call }: ProgramFixture, cmd: string) =>
  call().shell({
    cmd,
    cwd: '.',
    env: {},
    timeoutMs: 20_000,
    allowNetwork: false,
    captureBytes: 10_000,
  });

const git = (cwd: string, ...args: string[]) => {
  const identity = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const named = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  return execFileSync('git', [...named, ...args], {
    cwd,
    stdio: 'pipe',
    env: { ...process.env, ...identity },
  });
};

const repository = (root: string, folder: string, settings: Readonly<Record<string, string>> = {}) => {
  mkdirSync(join(root, folder), { recursive: true });
  git(join(root, folder), 'init', '-q', ...(folder.endsWith('.git') ? ['--bare'] : []));
  for (const [key, value] of Object.entries(settings)) git(join(root, folder), 'config', key, value);
};

describe('what a repository runs', () => {
  it('cannot be made by a program in a work tree that lies elsewhere, nor beside a bare repository', async () => {
    await withPrograms({ 'wk/x': '', 'bare/x': '', 'nb/x': '' }, async (fixture) => {
      const { root } = fixture;
      repository(root, 'wt/repo', { 'core.hooksPath': 'hk', 'core.worktree': '../../../wk' });
      repository(root, 'bare/srv.git', { 'core.hooksPath': '../hk' });
      repository(root, 'nb/repo', { 'core.hooksPath': '../../b/hk' });
      for (const hook of ['wk/hk/pre-commit', 'bare/hk/pre-receive', 'nb/b/hk/pre-receive']) {
        const folder = hook.slice(0, hook.lastIndexOf('/'));
        await shell(fixture, `mkdir -p ${folder}; printf x > ${hook}; true`);
        assert.equal(existsSync(join(root, hook)), false, hook);
      }
      assert.deepEqual(readdirSync(join(root, 'wk')), ['x']);
    });
  });

  for (const [key, value, program] of [
    ['core.fsmonitor', './watch.sh', 'watch.sh'],
    ['diff.x.textconv', 'sh t/conv', 't/conv'],
    ['alias.x', '!t/d', 't/d'],
  ] as const)
    it(`cannot be made by a program where ${key} names it and it is not there`, async () => {
      await withPrograms({ 'a/x': '' }, async (fixture) => {
        const { root } = fixture;
        repository(root, 'a', { [key]: value });
        await shell(fixture, `cd a; mkdir t; printf x > ${program}; mv x ${program}; rmdir t; true`);
        assert.deepEqual(readdirSync(join(root, 'a')), ['.git', 'x']);
      });
    });

  it('is held where a repository above the workspace takes it from there', () => {
    withTree({ 'ws/real/': '', 'ws/there/page': '', 'ws/free': '' }, (above) => {
      repository(above, '.', {
        'core.hooksPath': 'ws/lnk/hk',
        'core.fsmonitor': './ws/watch.sh',
        'core.pager': 'ws/there/page',
        'core.editor': './outside.sh',
      });
      const root = join(above, 'ws');
      symlinkSync('real', join(root, 'lnk'));
      const found = createFenceFinder().find({ root, policy: NO_FENCES }, [{ path: root, writable: [root] }]);
      assert.deepEqual(found.readOnly, ['real/hk', 'there/page', 'watch.sh']);
      assert.deepEqual(found.onTheWay, [join(root, 'lnk')]);
    });
  });

  for (const [what, line, changed] of [
    ['another link', 'ln -sfn ../ev a/lnk', 'a/lnk'],
    ['a folder', 'rm a/lnk; cp -r ev a/lnk', 'a/lnk'],
    ['nothing', 'rm a/lnk', 'a/lnk'],
    ['one in another folder of that name', 'mv a b; mkdir a; ln -s ../ev a/lnk', 'a/lnk'],
    ['one behind a link in the place of its folder', 'mv a b; ln -s ../ev ev/lnk; ln -s ev a', 'a/lnk'],
    ['a file for a link between', 'rm mid; printf evil > mid', 'mid'],
    ['a link to other configuration', 'ln -sfn ev incl', 'incl'],
  ] as const)
    it(`is led by the links that were there, where a program puts ${what} in their place`, async () => {
      await withPrograms({ 'a/x': '', 'real/hk/x': '', 'ev/hk/pre-commit': '', pc: '' }, async (fixture) => {
        const { root } = fixture;
        repository(root, 'repo', { 'core.hooksPath': '../a/lnk/hk', 'include.path': '../../incl/c' });
        symlinkSync('../real', join(root, 'a/lnk'));
        symlinkSync('pc', join(root, 'mid'));
        symlinkSync('../../../mid', join(root, 'repo/.git/hooks/pre-commit'));
        symlinkSync('real', join(root, 'incl'));
        const error: Failure = await shell(fixture, line).then(
          () => assert.fail('it succeeded'),
          (thrown) => thrown,
        );
        assert.equal(error.reason, 'sandbox.fence_fell', String(error));
        assert.deepEqual(error.details?.paths, [changed]);
        assert.match(error.message, /is put back/);
        assert.equal(lstatSync(join(root, 'a')).isDirectory(), true);
        for (const [link, target] of [
          ['a/lnk', '../real'],
          ['mid', 'pc'],
          ['incl', 'real'],
        ] as const)
          assert.equal(readlinkSync(join(root, link)), target);
        for (const { to } of error.details!.moved as { to: string }[])
          assert.ok(lstatSync(join(root, to)), to);
        await shell(fixture, 'ln -sfn ../real a/lnk; ls a');
      });
    });

  it('is led by a link between .git and its folder, and not made where .git leads to nothing', async () => {
    await withPrograms({ 'r/x': '', 'evil/HEAD': '', 'dangling/x': '' }, async (fixture) => {
      const { root } = fixture;
      repository(root, 'apart');
      symlinkSync('../mid', join(root, 'r/.git'));
      symlinkSync('apart/.git', join(root, 'mid'));
      symlinkSync('../soon', join(root, 'dangling/.git'));
      const error: Failure = await shell(fixture, 'ln -sfn evil mid; mkdir soon; touch haft.lock').then(
        () => assert.fail('it succeeded'),
        (thrown) => thrown,
      );
      assert.equal(error.reason, 'sandbox.fence_fell', String(error));
      assert.equal(readlinkSync(join(root, 'mid')), 'apart/.git');
      const moved = error.details!.moved as { path: string }[];
      assert.deepEqual(
        moved.map(({ path }) => path),
        ['mid', 'haft.lock'],
      );
      assert.match(error.message, /"mid" is put back.*"haft\.lock".* was moved to/);
      assert.equal(existsSync(join(root, 'soon')), false);
    });
  });
});
