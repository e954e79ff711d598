import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { isFailure } from '../../contract/errors.ts';
import type { ShellLine } from '../../contract/exec.ts';
import { type ProgramFixture, withPrograms } from './programs-for-tests.ts';

const LINE: Omit<ShellLine, 'cmd'> = {
  cwd: '.',
  env: {},
  timeoutMs: 30_000,
  allowNetwork: false,
  captureBytes: 10_000,
};

/** A workspace with a repository, and a program that leaves a mark when git starts it. */
interface Site extends ProgramFixture {
  git(folder: string, ...args: string[]): void;
  put(path: string, text: string): void;
  /** Appends to a configuration file; `EVIL` stands for the program. */
  config(file: string, text: string): void;
  /** Runs the line without Haft, and says whether the program ran. */
  bare(cmd: string): boolean;
  run(cmd: string): Promise<{ code: number | null; text: string; ran: boolean; warnings: string[] }>;
}

async function withRepository(use: (site: Site) => Promise<void>): Promise<void> {
  await withPrograms({ 'f.x': 'a\n', '.gitattributes': '*.x filter=X diff=X merge=X\n' }, async (fixture) => {
    const { root } = fixture;
    const at = (path: string) => join(root, path);
    const mark = at('pwned');
    const ran = () => {
      const found = existsSync(mark);
      rmSync(mark, { force: true });
      return found;
    };
    const site: Site = {
      ...fixture,
      git(folder, ...args) {
        const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always'];
        execFileSync('git', [...identity, ...args], { cwd: at(folder), stdio: 'pipe' });
      },
      put(path, text) {
        mkdirSync(dirname(at(path)), { recursive: true });
        writeFileSync(at(path), text);
      },
      config: (file, text) => appendFileSync(at(file), text.replaceAll('EVIL', at('evil'))),
      bare(cmd) {
        const env = { PATH: process.env.PATH, HOME: root, GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b' };
        spawnSync('bash', ['-c', cmd], {
          cwd: root,
          env,
          stdio: 'ignore',
          timeout: 20_000,
          killSignal: 'SIGKILL',
        });
        return ran();
      },
      async run(cmd) {
        const call = fixture.call();
        const outcome = await call.shell({ ...LINE, cmd });
        const text = Buffer.concat([outcome.stdout.bytes, outcome.stderr.bytes]).toString();
        return {
          code: outcome.code,
          text,
          ran: ran(),
          warnings: call.warnings.map(({ message }) => message),
        };
      },
    };
    site.put('evil', `#!/bin/sh\necho ran >> ${mark}\n`);
    chmodSync(at('evil'), 0o755);
    site.git('.', 'init', '-q', '-b', 'main');
    site.git('.', 'add', 'f.x', '.gitattributes');
    site.git('.', 'commit', '-q', '-m', 'first');
    site.put('f.x', 'a\nb\n');
    await use(site);
  });
}

/** What makes git start the program, and the line that does. */
const WAYS: readonly (readonly [name: string, config: string, cmd: string])[] = [
  ['filter.X.clean', '[filter "X"]\nclean = EVIL\n', 'touch f.x; git diff'],
  ['filter.X.process', '[filter "X"]\nprocess = EVIL\n', 'touch f.x; git diff'],
  ['a required filter', '[filter "X"]\nclean = EVIL\nrequired\n', 'touch f.x; git diff'],
  ['diff.X.command', '[diff "X"]\ncommand = EVIL\n', 'git diff'],
  ['diff.X.textconv', '[diff "X"]\ntextconv = EVIL\n', 'git diff'],
  ['textconv of grep', '[diff "X"]\ntextconv = EVIL\n', 'git grep --textconv b'],
  ['diff.external', '[diff]\nexternal = EVIL\n', 'git diff'],
  ['core.fsmonitor', '[core]\nfsmonitor = EVIL\n', 'git status'],
  ['core.sshCommand', '[core]\nsshCommand = EVIL\n', 'git ls-remote ssh://host/x'],
  ['core.gitProxy', '[core]\ngitProxy = EVIL\n', 'git ls-remote git://host/x'],
  ['remote.x.uploadpack', '[remote "x"]\nurl = .\nuploadpack = EVIL\n', 'git ls-remote x'],
  [
    'url.x.insteadOf',
    '[url "ext::EVIL "]\ninsteadOf = a:\n[protocol]\nallow = always\n',
    'git ls-remote a:b',
  ],
  [
    'protocol.ext.allow',
    '[remote "x"]\nurl = ext::EVIL\n[protocol "ext"]\nallow = always\n',
    'git ls-remote x',
  ],
  ['tar.x.command', '[tar "x"]\ncommand = EVIL\n', 'git archive --format=x HEAD'],
  ['core.editor', '[core]\neditor = EVIL\n', 'git branch --edit-description main'],
  ['gpg.program', '[gpg]\nprogram = EVIL\n', 'git commit-tree -S -m x "HEAD^{tree}"'],
  ['an included file', '[include]\npath = ../more\n', 'git diff'],
];

describe('git, started by a line', () => {
  it('starts nothing that its repository names', async () => {
    await withRepository(async (site) => {
      site.config('more', '[diff "X"]\ncommand = EVIL\n');
      for (const [name, config, cmd] of WAYS) {
        site.put('.git/config', '[core]\nrepositoryformatversion = 0\n[user]\nname = a\nemail = a@b\n');
        site.config('.git/config', config);
        assert.equal(site.bare(cmd), true, `${name} is no way at all`);
        assert.equal((await site.run(cmd)).ran, false, name);
      }
    });
  });

  it('starts nothing that another repository in the workspace names, however it is reached', async () => {
    await withRepository(async (site) => {
      const evil = '[filter "X"]\nclean = EVIL\n[diff "Y"]\ncommand = EVIL\n';
      mkdirSync(join(site.root, 'apart'));
      site.git('apart', 'init', '-q', '--separate-git-dir', join(site.root, 'store'));
      for (const folder of ['deep/in', 'part']) {
        mkdirSync(join(site.root, folder), { recursive: true });
        site.git(folder, 'init', '-q');
      }
      for (const folder of ['apart', 'deep/in', 'part']) {
        site.put(`${folder}/.gitattributes`, '*.x filter=X\n');
        site.put(`${folder}/f.x`, 'a\n');
        site.git(folder, 'add', '.');
        site.git(folder, 'commit', '-q', '-m', 'first');
        site.put(`${folder}/f.x`, 'b\n');
      }
      site.git('.', 'submodule', 'add', '-q', './part', 'sub');
      site.put('sub/f.x', 'c\n');
      mkdirSync(join(site.root, 'linked'));
      symlinkSync('../store', join(site.root, 'linked/.git'));
      site.put('linked/f.x', 'a\n');
      site.put('linked/.gitattributes', '*.x filter=X\n');
      for (const file of ['store/config', 'deep/in/.git/config', '.git/modules/sub/config'])
        site.config(file, evil);
      for (const cmd of [
        'touch apart/f.x; git -C apart diff',
        'touch deep/in/f.x; cd deep && cd in && git status',
        'touch sub/f.x; git status',
        'touch sub/f.x; git diff --submodule=diff',
        'touch linked/f.x; git -C linked diff',
      ]) {
        assert.equal(site.bare(cmd), true, `${cmd} is no way at all`);
        assert.equal((await site.run(cmd)).ran, false, cmd);
      }
    });
  });

  it('neither pushes to nor fetches from a repository of this machine, whose hooks would run', async () => {
    await withRepository(async (site) => {
      mkdirSync(join(site.root, 'target'));
      site.git('target', 'init', '-q', '--bare');
      site.put('target/hooks/pre-receive', `#!/bin/sh\necho ran > ${join(site.root, 'pwned')}\nexit 1\n`);
      chmodSync(join(site.root, 'target/hooks/pre-receive'), 0o755);
      site.config('target/config', `[core]\nhooksPath = ${join(site.root, 'target/hooks')}\n`);
      for (const cmd of ['git push ./target main', `git push file://${site.root}/target main`]) {
        assert.equal(site.bare(cmd), true, `${cmd} is no way at all`);
        const { ran, text } = await site.run(cmd);
        assert.equal(ran, false, cmd);
        assert.match(text, /transport 'file' not allowed/);
      }
    });
  });

  it('shows a file without the filter that it should have, and does not store it', async () => {
    await withRepository(async (site) => {
      site.config('.git/config', '[filter "X"]\nclean = EVIL\n');
      const shown = await site.run('git diff --stat');
      assert.equal(shown.code, 0, shown.text);
      assert.deepEqual(shown.warnings, [
        'Git ran without the programs that a repository names for files: filter.X.clean (.git/config)',
      ]);
      assert.match((await site.run('git hash-object f.x')).text, /clean filter 'X' failed/);
      assert.deepEqual((await site.run('ls')).warnings, []);
    });
  });

  it('does not run where a configuration cannot be read, and says which', async () => {
    await withRepository(async (site) => {
      site.put('deep/.git/config', '[core\n');
      await assert.rejects(site.run('git status'), (error) => {
        assert.ok(isFailure(error));
        assert.equal(error.reason, 'shell.wrapper');
        assert.match(error.message, /deep\/\.git\/config cannot be read as git's configuration/);
        return true;
      });
      assert.equal((await site.run('ls')).code, 0);
    });
  });

  it('does its everyday work', async () => {
    await withRepository(async (site) => {
      for (const cmd of [
        'git status --short',
        'git log --stat',
        'git diff',
        'git show',
        'git init -q new',
        'git blame f.x',
      ])
        assert.equal((await site.run(cmd)).code, 0, cmd);
    });
  });
});
