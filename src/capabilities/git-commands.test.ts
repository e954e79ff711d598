import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { programWords } from './git-commands.ts';

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
