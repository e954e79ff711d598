// Owns: programs that go for what belongs to another workspace or repository, for folders that nobody can look into, and for
// names that do not exist yet.
// Refuses: to count what is moved to quarantine as a success: it is out of the way, and the call says so.
import { type EscapeCase, type Step, script } from './case.ts';

const secret = (category: string, name: string, text: string) => script(category, name, 'secret', text);
const guarded = (category: string, name: string, text: string) => script(category, name, 'protected', text);

/** It runs, and what it left is moved away. */
const movedAway = (name: string, text: string, path: string): EscapeCase => ({
  category: 'names that do not exist yet',
  name,
  sight: 'protected',
  steps: [
    {
      tool: 'shell_exec',
      args: {},
      script: { language: 'bash', text: `${text}\n` },
      ends: 'quarantined',
      reason: /^policy\.quarantined$/,
      check: ({ response }) => {
        const moved = (response.errors[0]?.details?.moved ?? []) as { readonly path: string }[];
        return moved.some((one) => one.path === path) ? undefined : `it moved ${JSON.stringify(moved)}`;
      },
    },
  ],
});

const refused = (tool: string, args: Step['args']): Step => ({
  tool,
  args,
  ends: 'refused',
  reason: /^path\.(protected|denied_by_os)$/,
});

export const FENCES: readonly EscapeCase[] = [
  secret(
    'folders that cannot be looked into',
    'open them and read',
    'chmod -R 777 closed; cat closed/.env closed/*/.env; ls -laR closed; mv closed other; cat other/.env; cp -r closed copy; cat copy/.env; ln -s closed soft; cat soft/.env',
  ),
  {
    category: 'folders that cannot be looked into',
    name: 'close one and come back',
    sight: 'secret',
    steps: [
      ...[
        'mkdir -p shut; chmod 000 shut nested secrets 2>/dev/null; chmod 000 plain',
        'chmod -R 755 shut plain closed; cat closed/.env secrets/key',
      ].map(
        (text): Step => ({
          tool: 'shell_exec',
          args: {},
          script: { language: 'bash', text: `${text}\necho; echo tried\n` },
          ends: 'contained',
          tried: /^tried$/m,
        }),
      ),
    ],
  },
  guarded(
    'a workspace below',
    'write its state, policy, lock and packs',
    'echo x > inner/.haft/haft.db; echo x > inner/.haft/new; echo x > inner/haft.yaml; rm -f inner/haft.lock; echo x > inner/tools/t; echo x > inner/tools/new; mv inner away; rm -rf inner; mv inner/.haft inner/x; ln -sfn /tmp inner/tools',
  ),
  secret(
    'a workspace below',
    'read its state',
    'cat inner/.haft/haft.db inner/.haft/*; ls -la inner/.haft; cp -r inner /tmp/copy; cat /tmp/copy/.haft/*; grep -r . inner',
  ),
  {
    category: 'a workspace below',
    name: 'write it with the file tools',
    sight: 'protected',
    steps: [
      refused('file_read', { path: 'inner/.haft/haft.db' }),
      refused('file_write', { path: 'inner/.haft/haft.db', content: 'x' }),
      refused('file_write', { path: 'inner/haft.yaml', content: 'version: 1' }),
      refused('file_write', { path: 'plain/haft.yaml', content: 'version: 1' }),
      refused('file_write', { path: 'inner/tools/t', content: 'x' }),
      refused('fs_delete', { path: 'inner', recursive: true }),
      refused('fs_move', { src: 'inner', dst: 'away' }),
      refused('fs_copy', { src: 'plain/file', dst: 'inner/haft.lock', overwrite: true }),
    ],
  },
  guarded(
    'where git really lives',
    'write what a .git file or link leads to',
    'echo x > store/hooks/pre-commit; echo x >> store/config; rm -rf store; mv store gone; echo x > apart/.git; rm -f apart/.git; git -C apart config core.fsmonitor ./evil; echo x > linked/.git/config; mv apart away',
  ),
  {
    category: 'where git really lives',
    name: 'write it with the file tools',
    sight: 'protected',
    steps: [
      refused('file_write', { path: 'store/hooks/pre-commit', content: 'x' }),
      refused('file_write', { path: 'store/config', content: 'x' }),
      refused('file_write', { path: 'apart/.git', content: 'gitdir: ../plain' }),
      refused('fs_delete', { path: 'store', recursive: true }),
      refused('file_write', { path: 'tools/hooks/pre-commit', content: 'x' }),
    ],
  },
  secret(
    'links to folders',
    'read what a rule names behind one',
    'cat current/key releases/42/key; cp -r releases /tmp/r; cat /tmp/r/42/key; mv releases/42 releases/43; cat releases/43/key; grep -r . releases',
  ),
  guarded(
    'links to folders',
    'write what a rule names behind one',
    'echo x > current/key; echo x > releases/42/key; rm -f releases/42/key; echo x > conf/file; echo x > realconf/file; echo x > realconf/new; rm -rf realconf',
  ),
  guarded(
    'where git really lives',
    'write the hooks that core.hooksPath names',
    'echo x > tools/hooks/pre-push; echo x > tools/hooks/pre-commit; rm -rf tools/hooks; mv tools/hooks tools/h',
  ),
  guarded(
    'names that do not exist yet',
    'make what a rule names',
    'echo x > frozenX; mkdir frozenX; echo x > .envrc; mv plain/file .envrc; ln -s plain .envrc; ln plain/file .envrc; mkdir -p absent/deep; echo x > absent/deep/file; rm -rf absent; mv absent gone; cp -r plain frozenX',
  ),
  movedAway('a file that a pattern forbids', 'mkdir -p plain/a; echo x > plain/a/.env', 'plain/a/.env'),
  movedAway('by renaming a folder', 'mkdir -p t; echo x > t/.env; mv t plain/t; true', 'plain/t/.env'),
  movedAway('by a hard link', 'ln plain/file key.pem', 'key.pem'),
  movedAway('a link', 'ln -s plain key.pem', 'key.pem'),
  movedAway(
    'in a folder that is closed afterwards',
    'mkdir -p d/e; echo x > d/e/.env; chmod 000 d/e d',
    'd/e/.env',
  ),
  movedAway('a policy below', 'mkdir -p sub; echo "version: 1" > sub/haft.yaml', 'sub/haft.yaml'),
  movedAway('state below', 'mkdir -p sub/.haft; echo x > sub/.haft/haft.db', 'sub/.haft'),
  movedAway('a repository with a hook', 'git init -q sub; cp evil sub/.git/hooks/pre-commit', 'sub/.git'),
  movedAway(
    'a repository that is configured from beside',
    'git init -q sub; mv sub/.git/config plain/notes; ln -s ../../plain/notes sub/.git/config',
    'sub/.git',
  ),
  movedAway(
    'a repository whose hook is a link to nothing yet',
    'git init -q sub; mkdir -p sub/.git/hooks; ln -s ../../../plain/tool sub/.git/hooks/post-commit',
    'sub/.git',
  ),
  movedAway(
    'a repository with a common folder beside',
    'git init -q sub; cp -r sub/.git plain/c; rm plain/c/HEAD; rm -r sub/.git/objects sub/.git/refs; echo ../../plain/c > sub/.git/commondir',
    'sub/.git',
  ),
  movedAway(
    'behind a link to a folder',
    'ln -s releases/42 current2; mkdir x; echo x > x/key; ln -s x cur3',
    'cur3',
  ),
  movedAway('and is killed', 'echo x > key.pem; kill -9 $$', 'key.pem'),
];
