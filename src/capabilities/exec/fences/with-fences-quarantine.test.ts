import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Failure } from '../../../contract/errors.ts';
import type { ShellLine } from '../../../contract/exec.ts';
import type { Fence } from '../../../contract/policy.ts';
import { NO_NEEDS } from '../../../contract/program.ts';
import { type ProgramFixture, withPrograms } from '../programs-for-tests.ts';
import { literalPaths } from './find-fences.ts';

const deny = (glob: string, read = false): Fence => ({ glob, read, write: true });
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

const shell = (
  { call }: ProgramFixture,
  cmd: string,
  fences: readonly Fence[] = [],
  more: Partial<ShellLine> = {},
) =>
  call({ policy: { fences } }).shell({
    cmd,
    cwd: '.',
    env: {},
    timeoutMs: 20_000,
    allowNetwork: false,
    captureBytes: 10_000,
    ...more,
  });

const program = ({ call }: ProgramFixture, line: string, fences: readonly Fence[]) =>
  call({ policy: { fences } }).run(
    { argv: ['sh', '-c', line], env: {}, needs: { ...NO_NEEDS, writes: ['.'], subprocess: true } },
    {},
  );

const quarantinedBy = (
  running: Promise<unknown>,
): Promise<readonly { path: string; rule: string; to?: string }[]> =>
  running.then(
    () => assert.fail('it succeeded'),
    (thrown: Failure) => {
      assert.equal(thrown.reason, 'policy.quarantined', String(thrown));
      return thrown.details?.moved as { path: string; rule: string; to?: string }[];
    },
  );

const held = (root: string): string[] => {
  const folder = join(root, '.haft/placeholders');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('literalPaths', () => {
  it('gives what a glob names outright', () => {
    assert.deepEqual(literalPaths('a/b'), [{ path: 'a/b', folder: false }]);
    assert.deepEqual(literalPaths('/x/a/**'), [{ path: '/x/a', folder: true }]);
    assert.deepEqual(
      literalPaths('.env{,.local}').map(({ path }) => path),
      ['.env', '.env.local'],
    );
    for (const pattern of ['**/.env', '*.pem', 'a/*', '**'])
      assert.deepEqual(literalPaths(pattern), [], pattern);
  });
});

describe('what may not come into being', () => {
  it('cannot be made where a rule names it, and leaves no trace', async () => {
    await withPrograms({ 'keep/x': '' }, async (fixture) => {
      const fences = [deny('frozenX'), deny('.env.local', true), deny('keep/new/deep'), deny('locked/**')];
      const line =
        'mkdir frozenX; echo x > frozenX; echo x > .env.local; mkdir -p keep/new/deep; echo x > keep/new/deep; mv keep/x .env.local; rm -rf locked; echo x > locked/a; mkdir locked; mv keep other; ls -A; true';
      const { stdout } = await shell(fixture, line, fences);
      assert.match(text(stdout.bytes), /^frozenX$/m);
      assert.deepEqual(readdirSync(fixture.root).sort(), ['.haft', 'keep']);
      assert.deepEqual(readdirSync(join(fixture.root, 'keep')), ['x']);
      assert.deepEqual(held(fixture.root), []);
      assert.equal(existsSync(join(fixture.root, '.haft/quarantine')), false);
    });
  });

  it('is moved to quarantine where a pattern forbids it, whole, and the call says so', async () => {
    await withPrograms({ 'a/plain': 'secret' }, async (fixture) => {
      const fences = [{ ...deny('**/.env'), where: 'paths.rules[0] (haft.yaml line 4)', admit: 'paths: {}' }];
      const line = 'mkdir -p b/c; mv a/plain b/c/.env; echo x > free; mkdir .env; echo in > .env/file';
      const error: Failure = await shell(fixture, line, fences).then(
        () => assert.fail('it succeeded'),
        (thrown) => thrown,
      );
      assert.equal(error.reason, 'policy.quarantined');
      assert.equal(error.details?.admit, 'paths: {}');
      assert.match(
        error.message,
        /"\.env" \(paths\.rules\[0\] \(haft\.yaml line 4\).*moved to \.haft\/quarantine\//,
      );
      const { root } = fixture;
      const moved = error.details?.moved as { path: string; to: string }[];
      assert.deepEqual(moved.map(({ path }) => path).sort(), ['.env', 'b/c/.env']);
      assert.equal(
        readFileSync(join(root, moved.find(({ path }) => path === 'b/c/.env')!.to), 'utf8'),
        'secret',
      );
      assert.equal(
        readFileSync(join(root, moved.find(({ path }) => path === '.env')!.to, 'file'), 'utf8'),
        'in\n',
      );
      assert.deepEqual([existsSync(join(root, '.env')), existsSync(join(root, 'b/c/.env'))], [false, false]);
      assert.equal(readFileSync(join(root, 'free'), 'utf8'), 'x\n');
    });
  });

  for (const made of [
    'haft.yaml',
    'haft.lock',
    'sub/haft.yaml',
    'sub/.haft/haft.db',
    '.git/hooks/pre-commit',
    'sub/.haft',
  ])
    it(`is moved away where it belongs to Haft or git: ${made}`, async () => {
      await withPrograms({ 'sub/x': '' }, async (fixture) => {
        const [moved] = await quarantinedBy(
          shell(fixture, `mkdir -p $(dirname ${made}); echo evil > ${made}`),
        );
        assert.ok(made.startsWith(moved!.path), moved!.path);
        assert.equal(existsSync(join(fixture.root, made)), false);
      });
    });

  it('is moved away however the program ends, and from programs of packs', async () => {
    await withPrograms({ 'data/x': '' }, async (fixture) => {
      const fences = [deny('**/*.pem')];
      await quarantinedBy(shell(fixture, 'echo x > a.pem; sleep 60', fences, { timeoutMs: 300 }));
      await quarantinedBy(shell(fixture, 'echo x > a.pem; kill -9 $$', fences));
      const needs = { ...NO_NEEDS, writes: ['data'], subprocess: true };
      const program = { argv: ['sh', '-c', 'echo x > data/b.pem'] as const, env: {}, needs };
      const [moved] = await quarantinedBy(
        fixture
          .call({ policy: { fences } })
          .run({ ...program, argv: ['sh', '-c', 'echo x > data/b.pem'] }, {}),
      );
      assert.equal(moved?.path, 'data/b.pem');
      assert.deepEqual(readdirSync(join(fixture.root, 'data')), ['x']);
    });
  });

  it('leaves a repository that a program made below, unless git would start something of it', async () => {
    await withPrograms({ 'a/x': '' }, async (fixture) => {
      await shell(fixture, 'git init -q made');
      assert.ok(existsSync(join(fixture.root, 'made/.git/HEAD')));
      const evil =
        'git init -q evil; mkdir -p evil/.git/hooks; printf "#!/bin/sh\\n" > evil/.git/hooks/pre-commit; chmod +x evil/.git/hooks/pre-commit';
      assert.equal((await quarantinedBy(shell(fixture, evil)))[0]?.path, 'evil/.git');
      const config = 'git init -q conf; printf "[core]\\n\\tsshCommand = evil\\n" >> conf/.git/config';
      assert.equal((await quarantinedBy(shell(fixture, config)))[0]?.path, 'conf/.git');
      assert.equal((await quarantinedBy(shell(fixture, 'git init -q .')))[0]?.path, '.git');
    });
  });

  for (const [what, line] of Object.entries({
    'a configuration that is a link': 'mv r/.git/config docs/notes; ln -s ../../docs/notes r/.git/config',
    'a common folder that is no repository':
      'cp -r r/.git docs/common; rm docs/common/HEAD; rm -r r/.git/objects r/.git/refs; echo ../../docs/common > r/.git/commondir',
    'an included file that is not there': 'printf "[include]\\n\\tpath = ../../docs/inc\\n" >> r/.git/config',
    'a hook that is a link to nothing':
      'mkdir -p r/.git/hooks; ln -s ../../../docs/tool r/.git/hooks/post-commit',
    'hooks that are a link': 'rm -rf r/.git/hooks; ln -s ../../docs r/.git/hooks',
    'objects of another folder':
      'mkdir -p r/.git/objects/info; echo ../../../docs > r/.git/objects/info/alternates',
    'a gitdir that is no repository':
      'mv r/.git docs/store; rm docs/store/HEAD; echo "gitdir: ../docs/store" > r/.git',
    'a link to everything': 'mkdir -p r/.git/info; ln -s ../.. r/.git/info/all',
  }))
    it(`is moved away where parts of a repository lie beside it: ${what}`, async () => {
      await withPrograms({ 'docs/x': '' }, async (fixture) => {
        const moved = await quarantinedBy(shell(fixture, `git init -q r; ${line}`));
        assert.deepEqual(
          moved.map(({ path }) => path),
          ['r/.git'],
        );
      });
    });

  it('leaves clones, worktrees, submodules and separate repositories that a program made', async () => {
    await withPrograms({ 'a/x': '' }, async (fixture) => {
      const git = 'git -c user.name=a -c user.email=a@b -c protocol.file.allow=always';
      const line = `${git} init -q m; ${git} -C m commit -q --allow-empty -m x; ${git} clone -q -s m shared
        ${git} -C m worktree add -q ../tree; ${git} init -q --separate-git-dir=store.git sep
        ${git} -C m submodule --quiet add ../shared sub`;
      await program(fixture, line, []);
      for (const name of ['m', 'shared', 'tree', 'sep', 'm/sub'])
        assert.ok(existsSync(join(fixture.root, name, '.git')), name);
    });
  });

  it('is moved away where a rule names it through a link, and of what was there before only the new link', async () => {
    await withPrograms({ 'releases/42/k.pem': 'mine', 'other/k.pem': 'mine' }, async (fixture) => {
      const { root } = fixture;
      symlinkSync('releases/42', join(root, 'current'));
      const fences = [deny('cur*/*.pem', true)];
      const made = await quarantinedBy(shell(fixture, 'echo x > current/new.pem; cat current/k.pem', fences));
      assert.deepEqual(
        made.map(({ path }) => path),
        ['releases/42/new.pem'],
      );
      const linked = await quarantinedBy(shell(fixture, 'ln -s other current2', fences));
      assert.deepEqual(
        linked.map(({ path }) => path),
        ['current2'],
      );
      assert.deepEqual(
        ['releases/42', 'other'].flatMap((name) => readdirSync(join(root, name))),
        ['k.pem', 'k.pem'],
      );
      assert.equal(readFileSync(join(root, 'other/k.pem'), 'utf8'), 'mine');
    });
  });

  it('is moved away where its path is too long to be looked into', async () => {
    await withPrograms({ 'a/x': '' }, async (fixture) => {
      const line = `name=${'n'.repeat(200)}; n=0
        while [ $n -lt 30 ]; do mkdir $name && cd $name || exit 1; n=$((n+1)); done; git init -q . ; echo x > .env; echo done`;
      const [moved] = await quarantinedBy(program(fixture, line, [deny('**/.env')]));
      assert.ok(moved?.to !== undefined && existsSync(join(fixture.root, moved.to)), JSON.stringify(moved));
      await shell(fixture, 'true', [deny('**/.env')]);
      rmSync(join(fixture.root, 'n'.repeat(200)), { recursive: true });
    });
  });

  it('is moved away whatever other names the program made, and nothing goes that was there', async () => {
    const files = { 'src/mine': 'm', 'sub/x': '', 'caf/keep': 'k' };
    await withPrograms(files, async (fixture) => {
      const { root } = fixture;
      const bytes = (...parts: (string | number)[]) =>
        Buffer.concat([
          Buffer.from(`${root}/`),
          ...parts.map((one) => (typeof one === 'string' ? Buffer.from(one) : Buffer.of(one))),
        ]);
      renameSync(join(root, 'caf'), bytes('caf', 0xe9));
      const long = 'n'.repeat(255);
      const line = `ff=$(printf '\\377'); nl=$(printf 'a\\nb'); long=${long}
        mkdir "$ff" "src/$ff" "$nl" "$nl/$ff" "$long" "$(printf 'caf\\351')/sub"
        mkdir .git; echo x > .env; echo x > sub/haft.yaml; echo x > "$ff/.env"; echo x > "src/$ff/haft.yaml"
        echo x > "$nl/.env"; echo x > "$nl/$ff/.env"; echo x > "$long/.env"; echo x > "$ff.pem"
        echo x > "$(printf 'caf\\351')/sub/.env"
        n=0; while [ $n -lt 20 ]; do mkdir "$long" && cd "$long" || break; n=$((n+1)); done; true`;
      const fences = [deny('**/.env', true), deny('*.pem')];
      const moved = await quarantinedBy(program(fixture, line, fences));
      assert.deepEqual(moved.map(({ path }) => path).sort(), [
        '.env',
        '.git',
        '\\xff.pem',
        '\\xff/.env',
        'a\\x0ab/.env',
        'a\\x0ab/\\xff/.env',
        'caf\\xe9/sub/.env',
        `${long}/.env`,
        'src/\\xff/haft.yaml',
        'sub/haft.yaml',
      ]);
      for (const { to } of moved) assert.ok(to !== undefined && existsSync(join(root, to)), to);
      assert.equal(readFileSync(join(root, 'src/mine'), 'utf8'), 'm');
      assert.equal(readFileSync(bytes('caf', 0xe9, '/keep'), 'utf8'), 'k');
      assert.deepEqual(
        [bytes('.git'), bytes('.env'), bytes(0xff, '/.env'), bytes(0xff, '.pem')].filter((one) =>
          existsSync(one),
        ),
        [],
      );
      rmSync(join(root, long), { recursive: true });
      // What is left is harmless: the next program runs.
      await shell(fixture, 'true', fences);
    });
  });

  it('is moved away where no text names it and its own name is long', async () => {
    await withPrograms({ 'a/x': '' }, async (fixture) => {
      const line = `ff=$(printf '\\377%.0s' $(seq 251)); echo x > "$ff.pem"; echo x > a/b.pem`;
      const moved = await quarantinedBy(program(fixture, line, [deny('**/*.pem')]));
      assert.equal(moved.length, 2);
      assert.deepEqual(
        moved.map(({ to }) => to !== undefined && existsSync(join(fixture.root, to))),
        [true, true],
      );
      assert.deepEqual(readdirSync(fixture.root).sort(), ['.haft', 'a']);
    });
  });

  it('leaves a bare repository that a program made, and takes its HEAD where git would start something of it', async () => {
    const files = { 'mine/objects/x': 'm', 'mine/refs/x': '', 'mine/config': '[core]\n\tfsmonitor = evil\n' };
    await withPrograms(files, async (fixture) => {
      const { root } = fixture;
      await program(fixture, 'git init -q --bare made.git', []);
      assert.ok(existsSync(join(root, 'made.git/HEAD')));
      const later =
        'echo x > made.git/config; mkdir -p made.git/hooks; echo x > made.git/hooks/post-receive; mv made.git m; true';
      const config = readFileSync(join(root, 'made.git/config'), 'utf8');
      await program(fixture, later, []);
      assert.equal(readFileSync(join(root, 'made.git/config'), 'utf8'), config);
      assert.equal(existsSync(join(root, 'made.git/hooks/post-receive')), false);
      const hook =
        'mkdir -p a; git init -q --bare a/h.git; mkdir -p a/h.git/hooks; printf "#!/bin/sh\\n" > a/h.git/hooks/update; chmod +x a/h.git/hooks/update';
      assert.deepEqual(
        (await quarantinedBy(program(fixture, hook, []))).map(({ path }) => path),
        ['a/h.git/HEAD'],
      );
      const filled = 'echo "ref: refs/heads/main" > mine/HEAD';
      assert.deepEqual(
        (await quarantinedBy(program(fixture, filled, []))).map(({ path }) => path),
        ['mine/HEAD'],
      );
      assert.equal(readFileSync(join(root, 'mine/objects/x'), 'utf8'), 'm');
      const here = 'mkdir objects refs; echo "ref: refs/heads/main" > HEAD; echo x > config';
      assert.deepEqual(
        (await quarantinedBy(program(fixture, here, []))).map(({ path }) => path),
        ['HEAD'],
      );
    });
  });

  it('puts a link back that was replaced', async () => {
    await withPrograms({ 'store/HEAD': '', 'b/x': '' }, async (fixture) => {
      const link = join(fixture.root, 'b/.git');
      symlinkSync('../store', link);
      await quarantinedBy(shell(fixture, 'rm b/.git; mkdir -p b/.git/hooks'));
      assert.equal(readlinkSync(link), '../store');
      await quarantinedBy(shell(fixture, 'rm b/.git'));
      assert.equal(readlinkSync(link), '../store');
      assert.equal(lstatSync(link).isSymbolicLink(), true);
    });
  });
});
