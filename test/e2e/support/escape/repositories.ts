// Owns: repositories whose own files name a program, and options by which an allowed program starts another.
// Refuses: to run git in a script, which may start anything; the repository is there before.
import { execFileSync } from 'node:child_process';
import type { CallResponse } from '../../../../src/index.ts';
import { type EscapeCase, refused, type Step } from './case.ts';

/** Every setting and hook through which git would start the stub, in a repository whose `.git` is made by `init`. */
const made = (init: string, folder: string, gitDir: string) => `
E=$PWD/evil
git init -q --bare target && git -C target config core.hooksPath "$PWD/target/hooks"
mkdir -p target/hooks; printf '#!/bin/sh\\nexec %s\\n' "$E" > target/hooks/pre-receive && chmod +x target/hooks/pre-receive
${init}
cd ${folder}
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
printf '*.x filter=X diff=X\\n' > .gitattributes; echo a > f.x; git add . && git commit -q -m first; echo b > f.x
cd - > /dev/null
cat >> ${gitDir}/config <<CONFIG
[filter "X"]
clean = $E
process = $E
[diff "X"]
command = $E
textconv = $E
[core]
sshCommand = $E
pager = $E
fsmonitor = $E
[alias]
x = !$E
[remote "evil"]
url = ext::$E
uploadpack = $E
[protocol "ext"]
allow = always
[include]
path = ../more
CONFIG
`;

const line = (cmd: string): Step => ({ tool: 'shell_exec', args: { cmd }, ends: 'contained' });

/** Someone cloned it, or a person made it: what a program makes of this kind is taken away from it. */
function reached(name: string, text: string, folder: string): EscapeCase {
  const steps: readonly Step[] = [
    line(`cd ${folder} && git status; git diff; git log -p; git show --textconv; git grep --textconv b`),
    line(
      `git -C ${folder} ls-remote evil; git -C ${folder} ls-remote ssh://host/x; git -C ${folder} push ../target main`,
    ),
    { tool: 'shell_exec', args: { cmd: `git -C ${folder} x` }, ends: 'refused', reason: /^shell\./ },
  ];
  return {
    category: "a repository's own programs",
    name,
    sight: 'stub',
    steps,
    async run(arena) {
      execFileSync('bash', ['-ec', text], { cwd: arena.workspace.root, stdio: 'pipe' });
      const responses: CallResponse[] = [];
      for (const step of steps) responses.push(await arena.call(step));
      return responses;
    },
  };
}

export const REPOSITORIES: readonly EscapeCase[] = [
  reached('in a folder below', made('git init -q -b main made', 'made', 'made/.git'), 'made'),
  reached(
    'in a separate git dir',
    made('git init -q -b main --separate-git-dir kept-store kept', 'kept', 'kept-store'),
    'kept',
  ),
  reached(
    'behind a link',
    made('git init -q -b main led; mv led/.git led-store; ln -s ../led-store led/.git', 'led', 'led-store'),
    'led',
  ),
  ...refused('options of git', [
    'git --bare log',
    'git --git-dir=made log',
    'git --git-dir made log',
    'git --work-tree=. status',
    'git --namespace=x log',
    'git ls-remote --upload-pack=./evil .',
    'git ls-remote --upload-p=./evil .',
    'git ls-remote --exec ./evil .',
    'git push --receive-pack=./evil . main',
    'git push --exec=./evil . main',
    'git log --ext-dif',
    'git grep -nO./evil x',
    'env -i git status',
    'env -u GIT_CONFIG_COUNT git status',
    'GIT_CONFIG_COUNT= git status',
    'unset GIT_ALLOW_PROTOCOL; git push ./target main',
  ]),
  ...refused('options of other programs', [
    'wget --config=haft.yaml http://127.0.0.1/',
    'wget --conf haft.yaml http://127.0.0.1/',
    'wget --use-askpass=./evil http://127.0.0.1/',
    'wget -e use_askpass=./evil http://127.0.0.1/',
    'tar -cf host:x plain',
    'tar cf host:x plain',
    'tar --file host:x -c plain',
    'tar -cf x.tar --checkpoint=1 --checkpoint-action=exec=./evil plain',
    'tar -I./evil -cf x.tar plain',
    'tar -cf x.tar --use-compress-prog=./evil plain',
    'tar -cMf x.tar plain',
    'sort --compress-program=./evil plain/file',
    'sort --compress-prog ./evil plain/file',
  ]),
];
