import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { gitFolders, programWords } from './git-folders.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-git-folders-')));
after(() => rmSync(root, { recursive: true }));

const at = (...parts: string[]) => join(root, ...parts);
const write = (path: string, text: string) => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};
function git(cwd: string, ...args: string[]) {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always'];
  execFileSync('git', [...identity, ...args], { cwd: at(cwd), stdio: 'pipe' });
}

describe('gitFolders', () => {
  it('gives the folder itself for a plain repository', () => {
    mkdirSync(at('plain'));
    git('plain', 'init', '-q');
    assert.deepEqual(gitFolders(at('plain/.git')), {
      gitDirs: [at('plain/.git')],
      places: [at('plain/.git')],
      links: [],
    });
  });

  it('follows a separate git dir, by file and by link', () => {
    mkdirSync(at('apart'));
    git('apart', 'init', '-q', '--separate-git-dir', at('store'));
    assert.deepEqual(gitFolders(at('apart/.git')).places, [at('store')]);
    mkdirSync(at('linked'));
    symlinkSync('../store', at('linked/.git'));
    assert.deepEqual(gitFolders(at('linked/.git')).gitDirs, [at('store')]);
    write('by-link/real', 'gitdir: ../store\n');
    symlinkSync('real', at('by-link/.git'));
    assert.deepEqual(gitFolders(at('by-link/.git')).places, [at('by-link/real'), at('store')]);
  });

  it('follows a worktree to what it shares, and the shared folder to its worktrees and submodules', () => {
    mkdirSync(at('main'));
    git('main', 'init', '-q');
    git('main', 'commit', '-q', '--allow-empty', '-m', 'a');
    git('main', 'worktree', 'add', '-q', '../tree');
    mkdirSync(at('part'));
    git('part', 'init', '-q');
    git('part', 'commit', '-q', '--allow-empty', '-m', 'a');
    git('main', 'submodule', 'add', '-q', at('part'), 'deep/part');
    const expected = ['main/.git', 'main/.git/modules/deep/part', 'main/.git/worktrees/tree'].map((path) =>
      at(path),
    );
    assert.deepEqual(gitFolders(at('tree/.git')).gitDirs, expected);
    assert.deepEqual(gitFolders(at('main/.git')).gitDirs, expected);
    assert.deepEqual(gitFolders(at('main/deep/part/.git')).gitDirs, [at('main/.git/modules/deep/part')]);
  });

  it('finds what links inside a repository lead to, and configuration that it includes', () => {
    write('odd/.git/HEAD', 'ref: refs/heads/main\n');
    write('odd/.git/config', '[include]\n\tpath = ../more\n[includeIf "gitdir:x"]\n\tpath = ../else\n');
    write('odd/more', '[include]\npath=deeper\n');
    write('odd/else', '');
    write('odd/deeper', '[include]\npath=more\n');
    mkdirSync(at('odd/elsewhere'));
    symlinkSync('../elsewhere', at('odd/.git/hooks'));
    mkdirSync(at('odd/.git/modules'));
    symlinkSync('../../sub-store', at('odd/.git/modules/sub'));
    assert.deepEqual(
      gitFolders(at('odd/.git')).places,
      ['odd/.git', 'odd/deeper', 'odd/else', 'odd/elsewhere', 'odd/more', 'odd/sub-store'].map((path) =>
        at(path),
      ),
    );
  });

  it('counts relative hooks from every folder that git may start them in', () => {
    write('moved/.git/HEAD', 'ref: refs/heads/main\n');
    write('moved/.git/config', '[core]\n\thooksPath = hk\n\tworktree = ../../wk\n');
    assert.deepEqual(
      gitFolders(at('moved/.git')).places,
      ['moved/.git', 'moved/hk', 'wk/hk'].map((path) => at(path)),
    );
    write('shared/.git/HEAD', 'ref: refs/heads/main\n');
    write('shared/.git/config', '[core]\n\thooksPath = hk\n');
    write('shared/.git/worktrees/w/HEAD', 'ref: refs/heads/main\n');
    write('shared/.git/worktrees/w/commondir', '../..\n');
    write('shared/.git/worktrees/w/config.worktree', '[core]\n\tworktree = ../../../../wk2\n');
    assert.deepEqual(
      gitFolders(at('shared/.git')).places,
      ['shared/.git', 'shared/hk', 'wk2/hk'].map((path) => at(path)),
    );
    write('srv.git/HEAD', 'ref: refs/heads/main\n');
    write('srv.git/config', '[core]\n\thooksPath = ../served\n');
    assert.ok(gitFolders(at('srv.git')).places.includes(at('served')));
  });

  it('names every link on the way', () => {
    write('way/.git/HEAD', 'ref: refs/heads/main\n');
    write('way/.git/config', '[core]\n\thooksPath = lnk/hk\n[include]\n\tpath = ../incl/c\n');
    write('way/real/hk/x', '');
    write('way/inc/c', '[include]\n\tpath = ../more/../inc/c\n');
    symlinkSync('between', at('way/lnk'));
    symlinkSync('real', at('way/between'));
    symlinkSync('inc', at('way/incl'));
    symlinkSync('../../script', at('way/real/hk/pre-push'));
    symlinkSync('mid', at('way/script'));
    mkdirSync(at('way/.git/hooks'));
    symlinkSync('../../script', at('way/.git/hooks/pre-commit'));
    const { places, links } = gitFolders(at('way/.git'));
    assert.deepEqual(
      links,
      ['between', 'incl', 'lnk', 'real/hk/pre-push', 'script'].map((name) => at('way', name)),
    );
    for (const name of ['real/hk', 'inc/c', 'mid']) assert.ok(places.includes(at('way', name)), name);
  });

  it('takes dots after a link as the system does', () => {
    write('dots/.git/HEAD', 'ref: refs/heads/main\n');
    write('dots/.git/config', '[core]\n\thooksPath = lnk/../hk\n');
    write('dots/far/off/x', '');
    symlinkSync('far/off', at('dots/lnk'));
    assert.ok(gitFolders(at('dots/.git')).places.includes(at('dots/far/hk')));
  });

  it('follows alternates of alternates', () => {
    write('alt/.git/HEAD', 'ref: refs/heads/main\n');
    write('alt/.git/objects/info/alternates', '../../one\n');
    write('alt/one/info/alternates', '../two\n');
    write('alt/two/info/alternates', '../one\n');
    assert.deepEqual(
      gitFolders(at('alt/.git')).places,
      ['alt/.git', 'alt/one', 'alt/two'].map((path) => at(path)),
    );
  });

  it('names where a repository would be before it is there', () => {
    write('soon/.git', 'gitdir: later/x\r\n');
    assert.deepEqual(gitFolders(at('soon/.git')).gitDirs, [at('soon/later/x')]);
  });

  it('makes nothing of garbage, and ends where links go round', () => {
    write('junk/.git', 'gitdir: \0\n');
    write('text/.git', 'not a repository');
    write('empty/.git', '');
    mkdirSync(at('round'));
    symlinkSync('.git', at('round/.git'));
    for (const name of ['junk', 'text', 'empty', 'round', 'missing'])
      assert.deepEqual(gitFolders(at(name, '.git')).gitDirs, [], name);
    write('spin/.git/HEAD', 'x');
    write('spin/.git/commondir', '../.git\n');
    mkdirSync(at('spin/.git/modules/a'), { recursive: true });
    symlinkSync('..', at('spin/.git/modules/a/up'));
    symlinkSync('../..', at('spin/.git/modules/self'));
    assert.ok(gitFolders(at('spin/.git')).gitDirs.includes(at('spin/.git')));
  });
});

describe('programWords', () => {
  for (const [key, value, words] of [
    ['core.fsmonitor', './watch.sh', ['./watch.sh']],
    ['core.fsmonitor', 'tools/watch', ['tools/watch']],
    ['diff.external', 'tools/differ --fast', ['tools/differ']],
    ['diff.x.textconv', 'sh conv', ['conv']],
    ['diff.x.textconv', 'python3 -u conv.py', ['conv.py']],
    ['filter.x.clean', '"$(git rev-parse --show-toplevel)"/t/clean %f', ['./t/clean']],
    ['filter.x.smudge', 'A=b exec t/smudge', ['t/smudge']],
    ['merge.x.driver', "sh -c './d arg; t/e'", ['./d', 't/e', './d arg; t/e']],
    ['alias.x', '!./d.sh', ['./d.sh']],
    ['alias.x', '!f() { t/x "$1"; }; f', ['t/x']],
    ['gpg.program', 'my tools/gpg', ['my tools/gpg']],
    ['core.askpass', 't/ask', ['t/ask']],
    ['core.sshcommand', 'ssh -F t/x -o ProxyCommand=./p', ['./p']],
    ['credential.https://h.helper', '!t/cred', ['t/cred']],
    ['sequence.editor', 'true && t/edit', ['t/edit']],
    ['remote.o.uploadpack', '../up', ['../up']],
    ['hook.mine.command', 't/hook', ['t/hook']],
  ] as const)
    it(`finds what ${key} = ${value} runs`, () => {
      assert.deepEqual(programWords(key, value).sort(), [...words].sort());
    });

  for (const [key, value] of [
    ['core.pager', 'less -R'],
    ['core.editor', 'code --wait'],
    ['filter.lfs.clean', 'git-lfs clean -- %f'],
    ['filter.lfs.process', 'git-lfs filter-process'],
    ['credential.helper', 'cache --timeout=3600'],
    ['alias.st', 'status -sb ./x'],
    ['alias.l', '!git log origin/main..HEAD'],
    ['alias.py', '!python -m black .'],
    ['http.proxy', 'http://h:80/'],
    ['core.fsmonitor', 'true'],
    ['core.excludesfile', './ignored'],
  ] as const)
    it(`finds nothing in ${key} = ${value}`, () => {
      assert.deepEqual(programWords(key, value), []);
    });
});
