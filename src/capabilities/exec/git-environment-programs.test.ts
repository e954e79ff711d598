import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { parseGitConfig } from '../../base/parse-git-config.ts';
import { isHarmless, programsOfRepository } from './git-environment.ts';

const root = mkdtempSync(join(tmpdir(), 'haft-git-config-'));
after(() => rmSync(root, { recursive: true }));

const CONFIGS = [
  '[core]\n\tbare = false\n\tsshCommand = evil # not this\n',
  '[core] bare = false\n[a] b\n[A]B=1',
  '[remote "Or\\"i\\\\gin"] url = x ; c\n fetch = "+refs/*:#x" y  \n',
  '[alias]\n x = "!sh -c \\"evil\\"" \\\n  more\\\n',
  '# c \\\n[core]\nsshCommand=evil\n',
  `#${'x'.repeat(5000)} a = b \\\n[core]\nsshCommand=evil\n`,
  '\uFEFF[core]\r\n\tpager = a\r\n\teditor = b\\\r\n c\r\n',
  '[deprecated.Sub]\nKey = 1\n[x "Sub.Dot"]\nkey=\n[y]key="a\nb"',
  '[core]\nx = \\q\n',
  '[core]\nx y = 1\n',
  '[core\nx=1\n',
  '[core "a]\nx=1\n',
  '[core "a" ]\nx=1\n',
  'x = 1\n',
  '[core]\n\vx = 1\n',
  '[core]\n x = a\vb\t c \t\n y-1 = \\"q\\"\n',
  '[core]\r x = 1\n',
  '[ core]\nx=1\n',
  '[]\nx=1\n',
  '[core]\n1x=1\n',
  '[core]\nx_y=1\n',
  '',
];

describe('parseGitConfig', () => {
  it('reads what git reads, and nothing where git calls the file bad', () => {
    for (const [index, text] of CONFIGS.entries()) {
      const file = join(root, `config-${index}`);
      writeFileSync(file, text);
      const listed = spawnSync('git', ['config', '--file', file, '--list', '-z'], { encoding: 'utf8' });
      const mine = parseGitConfig(text)
        ?.map(({ key, value }) => `${key}${value === undefined ? '' : `\n${value}`}\0`)
        .join('');
      // Being stricter than git is fine.
      if (listed.status !== 0 || mine === undefined) assert.equal(mine, undefined, JSON.stringify(text));
      else assert.equal(mine, listed.stdout, JSON.stringify(text));
    }
    const read = CONFIGS.filter((text) => parseGitConfig(text) !== undefined);
    assert.ok(read.length >= 10, String(read.length));
    assert.equal(parseGitConfig('[a]\nb=1\0\n'), undefined);
  });
});

const NAMES_PROGRAM =
  'core.sshCommand core.gitProxy core.fsmonitor core.hooksPath core.editor core.pager core.askPass core.alternateRefsCommand sequence.editor diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.smudge filter.x.process merge.x.driver credential.helper credential.https://x.helper gpg.program gpg.ssh.program gpg.ssh.defaultKeyCommand remote.x.uploadpack remote.x.receivepack remote.x.vcs url.x.insteadOf protocol.allow protocol.ext.allow alias.x trailer.x.command trailer.x.cmd uploadpack.packObjectsHook submodule.x.update=!evil sendemail.tocmd sendemail.x.smtpserver browser.x.cmd man.x.path difftool.x.cmd mergetool.x.path interactive.diffFilter pager.log init.templateDir branch.x.mergeOptions pull.twohead merge.tool diff.tool hook.x.command unknown.setting guitool.x.cmd imap.tunnel';

describe('programsOfRepository', () => {
  it('calls every setting that may name a program one, and no everyday setting', () => {
    for (const setting of NAMES_PROGRAM.split(' ')) {
      const [key = '', value = 'evil'] = setting.split('=');
      const config = execFileSync('git', ['config', '--file', '-', '--list', '-z'], {
        input: asConfig(key, value),
        encoding: 'utf8',
      });
      assert.equal(isHarmless(config.split('\n')[0]!, value), false, setting);
    }
    for (const key of 'core.bare core.worktree user.name remote.origin.url branch.main.merge color.ui color.diff.frag submodule.x.url http.https://a.b.proxy extensions.worktreeconfig include.path'.split(
      ' ',
    ))
      assert.equal(isHarmless(key, 'x'), true, key);
  });

  it('names the file and the setting, of what is included too, and the hooks that would run', () => {
    const gitDir = join(root, 'repo');
    mkdirSync(join(gitDir, 'hooks'), { recursive: true });
    writeFileSync(join(gitDir, 'config'), '[include]\npath=more\n[core]\nbare=false\n');
    writeFileSync(join(gitDir, 'config.worktree'), '[core]\npager=evil\n');
    writeFileSync(join(gitDir, 'more'), '[filter "X"]\nclean=evil\n');
    for (const name of ['pre-commit', 'pre-push.sample', 'not-executable'])
      writeFileSync(join(gitDir, 'hooks', name), '#!/bin/sh\n', {
        mode: name === 'not-executable' ? 0o644 : 0o755,
      });
    chmodSync(join(gitDir, 'hooks/pre-commit'), 0o755);
    assert.deepEqual(programsOfRepository(gitDir), [
      { file: join(gitDir, 'config.worktree'), key: 'core.pager', value: 'evil' },
      { file: join(gitDir, 'more'), key: 'filter.X.clean', value: 'evil' },
      { file: join(gitDir, 'hooks/pre-commit'), key: 'hooks', value: 'pre-commit' },
    ]);
  });

  it('takes a file that it cannot read for one that names programs', () => {
    const gitDir = join(root, 'broken');
    mkdirSync(gitDir);
    for (const text of ['[core\n', '[a "\xff"]\nb=1\n', '[a]\nb=\0\n']) {
      writeFileSync(join(gitDir, 'config'), text, 'latin1');
      assert.deepEqual(programsOfRepository(gitDir), [{ file: join(gitDir, 'config'), key: undefined }]);
    }
    assert.deepEqual(programsOfRepository(join(root, 'missing')), []);
  });
});

function asConfig(key: string, value: string): string {
  const [, section = '', sub, name = ''] = /^([^.]*)(?:\.(.*))?\.([^.]*)$/.exec(key) ?? [];
  return `[${section}${sub === undefined ? '' : ` "${sub}"`}]\n${name} = "${value}"\n`;
}
