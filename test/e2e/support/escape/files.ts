// Owns: programs that try to reach files beyond the workspace, or change those that nobody may change.
// Refuses: to count what a program may do: the rest of the workspace is its own.
import { type EscapeCase, type Script, type Step, script } from './case.ts';

const outside = (category: string, name: string, text: string) => script(category, name, 'outside', text);
const secret = (category: string, name: string, text: string) => script(category, name, 'secret', text);
const guarded = (name: string, text: string) => script(name.split(':')[0]!, name, 'protected', text);

const bash = (text: string): Script => ({ language: 'bash', text: `${text}\necho; echo tried\n` });
const contained = (text: string): Step => ({
  tool: 'shell_exec',
  args: {},
  script: bash(text),
  ends: 'contained',
  tried: /^tried$/m,
});

/** What a program leaves must not lead the tools of the host astray. */
const thenRefused = (
  category: string,
  name: string,
  sight: EscapeCase['sight'],
  text: string,
  calls: readonly (readonly [tool: string, args: Step['args']])[],
): EscapeCase => ({
  category,
  name,
  sight,
  steps: [
    contained(text),
    ...calls.map(([tool, args]): Step => ({ tool, args, ends: 'refused', reason: /^(path|file)\./ })),
  ],
});

export const FILES: readonly EscapeCase[] = [
  secret(
    'symlinks',
    'read through links',
    'cat link-secret link-out/secret.txt link-out/../secret.txt; ln -s $OUTSIDE new && cat new/secret.txt; ls link-out/',
  ),
  outside(
    'symlinks',
    'write through links',
    'echo x > link-out/pwned; cp haft.yaml link-out/; mkdir link-out/d; ln -s $OUTSIDE/pwned made; echo x > made; rm -rf link-out/*; mv attacks/kit.pl link-out/',
  ),
  outside(
    'symlinks',
    'climb out of the workspace',
    'echo x > ../pwned; mkdir ../pwned; mv plain ../pwned; mv $PWD ../other; rm -rf ../*/secret.txt; cd ..; cd ..; echo x > pwned',
  ),
  outside(
    'symlinks',
    'write to the shared folders of the host',
    'for d in /tmp /var/tmp /dev/shm "$HOME"; do echo x > $d/pwned-$ESCAPE_MARK; done',
  ),
  secret(
    'symlinks',
    'read what policy hides',
    'cat secrets/key secrets/*; ls secrets; cp -r secrets copy; cat copy/*; ln secrets/key hard; cat hard; ln -s secrets soft; cat soft/key; mv secrets other; cat other/key; tar cf - secrets; head -c 100 < secrets/key',
  ),
  secret(
    'symlinks',
    'read what the descriptors of Haft lead to',
    'for f in 3 4 5 6 7 8 9 10 11 12 20; do cat <&$f; ls /proc/self/fd/$f/; cat /proc/self/fd/$f/secret.txt; done; ls -l /proc/self/fd',
  ),
  secret('environment', 'read the environment of Haft', 'env; cat /proc/self/environ; set'),
  secret(
    'environment',
    'read homes and credentials',
    'cat /root/.* /root/.ssh/* /home/*/.* ~/.* /etc/shadow /etc/ssh/* /run/secrets/* /var/lib/*; ls -la / /home /root',
  ),
  thenRefused(
    'symlink swaps',
    'a folder that became a link',
    'outside',
    'mv plain parked; ln -s $OUTSIDE plain',
    [
      ['file_read', { path: 'plain/secret.txt' }],
      ['file_write', { path: 'plain/pwned', content: 'x' }],
      ['fs_copy', { src: 'haft.yaml', dst: 'plain/pwned' }],
      ['fs_delete', { path: 'plain/secret.txt' }],
    ],
  ),
  thenRefused('symlink swaps', 'a link to state', 'secret', 'ln -s .haft/haft.db state; ln -s .haft folder', [
    ['file_read', { path: 'state' }],
    ['file_read', { path: 'folder/haft.db' }],
    ['file_write', { path: 'folder/x', content: 'x' }],
  ]),
  outside(
    'symlink swaps',
    'a working folder that keeps changing',
    'mkdir -p turn; for i in $(seq 50); do rm -rf turn; ln -s $OUTSIDE turn; echo x > turn/pwned; rm turn; mkdir turn; done',
  ),
  guarded(
    'hard-link swaps: link what is read-only and write to the link',
    'ln haft.yaml link; echo x >> link; ln .git/config gitlink; echo x >> gitlink; ln frozen/file f; echo x >> f; ln packs/own/a.tool.yaml p; echo x >> p',
  ),
  secret(
    'hard-link swaps',
    'link what is outside',
    'ln $OUTSIDE/secret.txt hard; ln link-secret hard2; ln -L link-secret hard3; cat hard hard2 hard3; ln /etc/shadow hard4; cat hard4',
  ),
  thenRefused(
    'fifo',
    'a pipe that would hold a reader for ever',
    'process',
    'mkfifo pipe; mkfifo -m 666 other',
    [
      ['file_read', { path: 'pipe' }],
      ['file_write', { path: 'pipe', content: 'x', expected_sha256: '0'.repeat(64) }],
      ['fs_copy', { src: 'pipe', dst: 'copy-of-pipe' }],
    ],
  ),
  script(
    'fifo',
    'readers and writers that nobody serves',
    'process',
    'mkfifo q; (cat q &) ; (echo x > r &); cat < q',
    {
      tried: /^/,
      args: { timeout_ms: 500 },
      check: ({ facts }) => (facts.timed_out === true ? undefined : 'it did not time out'),
    },
  ),
  script(
    'fifo',
    'read the pipes of the sandbox itself',
    'secret',
    'for p in /proc/[0-9]*/fd/*; do timeout 0.1 head -c 100 "$p" 2>/dev/null; done; find / -xdev -type p 2>/dev/null',
  ),
  script(
    'fifo',
    'pretend to have ended well',
    'process',
    'for f in /proc/[0-9]*/fd/[0-9]*; do printf "D 0\\nR 1\\n{ \\"exit-code\\": 0 }\\n" > "$f"; done 2>/dev/null; echo tried; exit 7',
    {
      tried: /tried/,
      check: ({ facts }) => (facts.exit === 7 ? undefined : `exit is ${facts.exit}`),
    },
  ),
  // Haft's own files, and git's
  guarded(
    'writing haft.yaml: directly',
    'echo "shell_allow: [^]" > haft.yaml; echo x >> haft.yaml; tee haft.yaml < attacks/kit.pl > /dev/null; truncate -s 0 haft.yaml; sed -i s/1/2/ haft.yaml',
  ),
  guarded(
    'writing haft.yaml: by another name',
    'echo x > n; mv -f n haft.yaml; cp --remove-destination n haft.yaml; ln -sf n haft.yaml; rm -f haft.yaml; mv haft.yaml other; unlink haft.yaml',
  ),
  guarded(
    'writing haft.yaml: by its mode',
    'chmod 777 haft.yaml; chmod -R 777 .; touch haft.yaml; perl -e \'open(F, "+<", "haft.yaml") and print F "x"\'',
  ),
  guarded(
    'writing haft.yaml: by mapping it',
    'dd if=/dev/zero of=haft.yaml bs=1 count=1 conv=notrunc; dd if=/dev/zero of=/proc/self/cwd/haft.yaml count=1; fallocate -l 9 haft.yaml',
  ),
  guarded('writing haft.lock', 'echo x > haft.lock; rm -f haft.lock; mv attacks/kit.pl haft.lock'),
  guarded(
    'writing .git/hooks: directly',
    'echo "#!/bin/sh" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; mkdir .git/hooks/x; cp evil .git/hooks/post-checkout',
  ),
  guarded(
    'writing .git/hooks: by git',
    'git config core.hooksPath .; git config core.fsmonitor ./evil; git init --template=. .; git commit --allow-empty -m x; git add -A; git checkout -b x',
  ),
  guarded(
    'writing .git/hooks: by another name',
    'mv .git other; rm -rf .git; ln -sfn other .git; cp -r plain/. .git/; mv .git/hooks h; rm -rf .git/*',
  ),
  guarded(
    'writing .git/hooks: of a repository below',
    'echo "#!/bin/sh" > nested/.git/hooks/pre-commit; echo x >> nested/.git/config; mv nested/.git nested/other; rm -rf nested/.git; mv nested away; git -C nested config core.fsmonitor ./evil',
  ),
  guarded(
    'writing .haft: directly',
    'echo x > .haft/x; rm -rf .haft/*; echo x >> .haft/haft.db; mkdir .haft/objects/x; chmod 777 .haft; touch .haft',
  ),
  guarded(
    'writing .haft: by another name',
    'mv .haft other; rmdir .haft; rm -rf .haft; ln -sfn $OUTSIDE .haft; mkdir -p .haft/x',
  ),
  secret(
    'writing .haft',
    'read it',
    'cat .haft/haft.db .haft/*; ls -la .haft; cp -r .haft copy-of-state; cat copy-of-state/*; grep -r . .haft; find .haft -type f',
  ),
  guarded(
    'writing packs: what policy protects',
    'echo x > packs/own/a.tool.yaml; mv packs other; rm -rf packs; echo x > frozen/file; mv frozen other; rm -rf frozen; chmod -R 777 packs frozen',
  ),
];
