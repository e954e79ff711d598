import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { NO_FENCES } from '../../../contract/capability.ts';
import type { Fence } from '../../../contract/policy.ts';
import { NO_NEEDS } from '../../../contract/program.ts';
import { withPrograms } from '../programs-for-tests.ts';
import { createFenceFinder } from './find-fences.ts';
import { findIn, put, withTree } from './trees-for-tests.ts';

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const ENV: Fence = { glob: '**/.env', read: true, write: true };

const find = (root: string, fences: readonly Fence[] = [ENV], finder = createFenceFinder()) =>
  findIn(root, fences, finder);

/** As an ordinary user, where this is root. */
function asNobody<T>(root: string, action: () => T): T {
  if (process.geteuid?.() !== 0) return action();
  chmodSync(root, 0o755);
  process.setegid!(65_534);
  process.seteuid!(65_534);
  try {
    return action();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
  }
}

function give(root: string, name: string, mode: number): void {
  if (process.geteuid?.() === 0) chownSync(join(root, name), 65_534, 65_534);
  chmodSync(join(root, name), mode);
}

describe('fences', () => {
  it('hide what a link really leads to, where its target climbs out of another link', () => {
    withTree({ 'other/deep/y': '', 'other/x': 's', x: 'plain' }, (root) => {
      symlinkSync('other/deep', join(root, 'sub'));
      symlinkSync('sub/../x', join(root, '.env'));
      assert.equal(readFileSync(join(root, '.env'), 'utf8'), 's');
      assert.deepEqual(find(root), { hidden: ['other/x'], readOnly: [] });
    });
  });

  it('hide the topmost folder that cannot be looked into, whatever may be in it', () => {
    const files = { 'config/.env': 's', 'deep/sub/.git/hooks/x': '', 'listed/.env': '', 'open/.env': '' };
    withTree(files, (root) => {
      give(root, 'config', 0o000);
      give(root, 'deep', 0o300);
      give(root, 'listed', 0o400);
      const { hidden } = asNobody(root, () => find(root));
      assert.deepEqual(hidden, ['config', 'deep', 'listed', 'open/.env']);
      for (const name of ['config', 'deep', 'listed']) chmodSync(join(root, name), 0o755);
    });
  });

  it('look into folders whose name is not UTF-8, and take the nearest that text can name for what is in them', () => {
    const files = { 'caf/x': '', 'src/in/.env': 's', 'ro/in/haft.yaml': '', 'plain/.env': '' };
    withTree(files, (root) => {
      const odd = (...names: string[]) => Buffer.concat([Buffer.from(join(root, ...names)), Buffer.of(0xe9)]);
      renameSync(join(root, 'caf'), odd('caf'));
      renameSync(join(root, 'src/in'), odd('src', 'in'));
      renameSync(join(root, 'ro/in'), odd('ro', 'in'));
      assert.deepEqual(find(root), { hidden: ['plain/.env', 'src'], readOnly: ['ro'] });
      symlinkSync(Buffer.concat([odd('src', 'in'), Buffer.from('/.env')]), join(root, 'plain/link'));
      const links: Fence = { glob: 'plain/link', read: true, write: true };
      assert.deepEqual(find(root, [links]).hidden, ['src']);
      writeFileSync(Buffer.concat([odd('caf'), Buffer.from('/.env')]), 's');
      assert.throws(
        () => find(root),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'sandbox.unfenceable' && thrown.message.includes('"caf\\xe9/.env" must be kept'),
      );
    });
  });

  it('hold a repository that a .git file leads to below a name that is not UTF-8', () => {
    withTree({ 'a/x': '', 'b/store/HEAD': '' }, (root) => {
      const odd = Buffer.concat([Buffer.from(join(root, 'b/')), Buffer.of(0xff)]);
      renameSync(join(root, 'b/store'), odd);
      writeFileSync(join(root, 'a/.git'), Buffer.concat([Buffer.from('gitdir: '), odd, Buffer.from('\n')]));
      assert.deepEqual(find(root).readOnly, ['a/.git', 'b']);
    });
  });

  it('refuse a root that cannot be looked into', () => {
    withTree({ 'a/.env': '' }, (root) => {
      chmodSync(root, 0o755);
      give(root, 'a', 0o000);
      assert.throws(
        () => asNobody(root, () => find(join(root, 'a'))),
        (thrown: { reason?: string }) => thrown.reason === 'sandbox.unfenceable',
      );
      chmodSync(join(root, 'a'), 0o755);
    });
  });

  it('see a change of mode or content in a folder that was looked at before', () => {
    withTree({ 'a/b/c': '' }, (root) => {
      const finder = createFenceFinder();
      assert.deepEqual(find(root, [ENV], finder).hidden, []);
      writeFileSync(join(root, 'a/b/.env'), '');
      assert.deepEqual(find(root, [ENV], finder).hidden, ['a/b/.env']);
      give(root, 'a/b', 0o000);
      assert.deepEqual(
        asNobody(root, () => find(root, [ENV], finder).hidden),
        ['a/b'],
      );
      chmodSync(join(root, 'a/b'), 0o755);
    });
  });

  it('hold state, policy, locks, packs and repositories at every depth', () => {
    const files = {
      'haft.yaml': 'version: 1\npacks: [own]\n',
      'own/a.tool.yaml': '',
      'node_modules/x/.git/config': '',
      'in/.haft/haft.db': '',
      'in/haft.yaml':
        'version: 1\npacks:\n  - tools\n  - "../shared"\n  - mcp: { command: [node, srv/hub.mjs] }\nnetwork: {}\n',
      'in/haft.lock': '',
      'in/tools/a.tool.yaml': '',
      'in/srv/hub.mjs': '',
      'in/srv/other.mjs': '',
      'in/network/x': '',
      'shared/x': '',
    };
    withTree(files, (root) => {
      assert.deepEqual(find(root, []), {
        hidden: ['in/.haft'],
        readOnly: [
          'haft.yaml',
          'in/haft.lock',
          'in/haft.yaml',
          'in/srv/hub.mjs',
          'in/tools',
          'node_modules/x/.git',
          'shared',
        ],
      });
    });
  });

  it('hold all of a workspace below whose packs cannot be told', () => {
    const files = {
      'in/haft.yaml': 'packs: ["p\\x33"]\n',
      'in/p3/t.py': '',
      'in/.haft/haft.db': '',
      'other/x': '',
    };
    withTree(files, (root) => {
      assert.deepEqual(find(root, []), { hidden: ['in/.haft'], readOnly: ['in', 'in/haft.yaml'] });
    });
  });

  it('hold the folder that a .git file or link leads to, and what is denied inside a repository', () => {
    withTree(
      {
        'store/HEAD': '',
        'store2/HEAD': '',
        'a/x': '',
        '.git/config': '',
        '.git/.env': '',
        '.git/x/.haft/y': '',
      },
      (root) => {
        writeFileSync(join(root, 'a/.git'), 'gitdir: ../store\n');
        mkdirSync(join(root, 'b'));
        symlinkSync('../store2', join(root, 'b/.git'));
        assert.deepEqual(find(root), {
          hidden: ['.git/.env', '.git/x/.haft'],
          readOnly: ['.git', 'a/.git', 'store', 'store2'],
        });
      },
    );
  });

  it('hold folders that git takes for repositories, at any depth, and the parts of one in the workspace itself', () => {
    const bare = (at: string) =>
      Object.fromEntries(['HEAD', 'objects/x', 'refs/x', 'config'].map((name) => [`${at}${name}`, '']));
    const files = { ...bare('a/b.git/'), ...bare('.git/'), ...bare('.git/modules/m/'), 'a/b.git/.env': '' };
    withTree({ ...files, 't/HEAD': '', 't/commondir': '', 'p/HEAD': '', 'p/refs/x': '' }, (root) => {
      assert.deepEqual(find(root), { hidden: ['a/b.git/.env'], readOnly: ['.git', 'a/b.git', 't'] });
    });
    withTree({ ...bare(''), 'haft.yaml': '', 'sub/x': '' }, (root) => {
      assert.deepEqual(find(root), {
        hidden: [],
        readOnly: ['HEAD', 'config', 'haft.yaml', 'objects', 'refs'],
      });
    });
  });

  it('hold what the configuration of a repository includes, also where it is not there yet', () => {
    const config = '[include]\n\tpath = ../there\n\tpath = ../conf/missing\n';
    withTree({ '.git/config': config, there: '', 'b/.git': 'gitdir: ../none\n' }, (root) => {
      const scope = { root, policy: NO_FENCES };
      const { readOnly, missing } = createFenceFinder().find(scope, [{ path: root, writable: [root] }]);
      assert.deepEqual(readOnly, ['.git', 'b/.git', 'conf/missing', 'there']);
      assert.deepEqual(missing, [{ path: join(root, 'conf/missing'), folder: false }]);
    });
  });

  it('hide what is denied below what is only read-only, and policy files that may not be read', () => {
    withTree({ 'frozen/sub/.env': '', 'frozen/x': '', 'in/haft.yaml': '' }, (root) => {
      const fences = [
        ENV,
        { glob: 'frozen', read: false, write: true },
        { glob: 'in/*', read: true, write: false },
      ];
      assert.deepEqual(find(root, fences), {
        hidden: ['frozen/sub/.env', 'in/haft.yaml'],
        readOnly: ['frozen'],
      });
    });
  });

  it('take one folder for many files that are all denied, and refuse what is left beyond 500', () => {
    withTree({ 'keys/': '', 'mixed/other': '' }, (root) => {
      mkdirSync(join(root, 'keys'));
      for (let n = 0; n < 600; n++) {
        writeFileSync(join(root, `keys/${n}.pem`), '');
        writeFileSync(join(root, `mixed/${n}.pem`), '');
      }
      const keys: Fence = { glob: 'keys/*.pem', read: true, write: true };
      assert.deepEqual(find(root, [keys]).hidden, ['keys']);
      assert.throws(
        () => find(root, [{ glob: '**/*.pem', read: false, write: true }]),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'sandbox.unfenceable' &&
          /601 paths.*more than 500; 601 of them by .*\*\*\/\*\.pem/.test(thrown.message),
      );
    });
  });
});

describe('fences of git', () => {
  it('hold the folder of hooks and the files that settings name, and what links and alternates lead to', () => {
    const config =
      '[core]\n\thooksPath = tools/hooks\n\tfsmonitor = ./tools/watch --all\n[merge "x"]\n\tdriver = node tools/merge.mjs %A\n[remote "o"]\n\turl = other\n';
    const files = {
      '.git/config': config,
      'tools/hooks/pre-commit': '',
      'tools/watch': '',
      'tools/merge.mjs': '',
      'scripts/post': '',
      'pool/x': '',
      other: '',
    };
    withTree({ ...files, '.git/objects/info/alternates': '../../pool\n', '.git/hooks/': '' }, (root) => {
      mkdirSync(join(root, '.git/hooks'));
      symlinkSync('../../scripts/post', join(root, '.git/hooks/post-commit'));
      assert.deepEqual(find(root).readOnly, [
        '.git',
        'pool',
        'scripts/post',
        'tools/hooks',
        'tools/merge.mjs',
        'tools/watch',
      ]);
    });
  });
});

describe('fences beside the workspace', () => {
  it('are refused where there is too much to look through, with the number', () => {
    withTree({ 'ws/a': '', 'ws/b': '', 'ws/c': '', 'other/d/a': '', 'other/b': '' }, (root) => {
      const scope = { root: join(root, 'ws'), policy: NO_FENCES };
      const roots = ['ws', 'other'].map((name) => ({ path: join(root, name), writable: [] }));
      assert.doesNotThrow(() => createFenceFinder(3).find(scope, roots));
      assert.throws(
        () => createFenceFinder(2).find(scope, roots),
        (thrown: Error & { reason?: string }) =>
          thrown.reason === 'sandbox.unfenceable' && /other" holds more than 2 entries/.test(thrown.message),
      );
    });
  });
});

describe('a program', () => {
  it('leaves alone what belongs to a workspace below, or to one in another root', async () => {
    const files = {
      'in/.haft/haft.db': 'rows',
      'in/haft.yaml': 'version: 1\npacks: [tools]\n',
      'in/tools/t': 'tool',
      'in/free': 'free',
      'store/config': 'git',
      'in/.git': 'gitdir: ../store\n',
    };
    const tries = (at: string) => `cd ${at}
      cat in/.haft/haft.db
      for f in in/.haft/haft.db in/haft.yaml in/tools/t in/tools/new store/config store/hooks in/.git in/free; do echo evil > $f; done
      rm -rf in/.haft in/tools store; mv in away; mv store gone`;
    const snapshot = (root: string) => [
      ...Object.keys(files).map((name) => readFileSync(join(root, name), 'utf8')),
      existsSync(join(root, 'in/tools/new')) || existsSync(join(root, 'store/hooks')),
    ];
    const expected = [...Object.values(files).map((one) => (one === 'free' ? 'evil\n' : one)), false];
    const other = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-other-root-')));
    try {
      put(other, files);
      await withPrograms(files, async ({ root, call }) => {
        cpSync(other, join(root, 'sub'), { recursive: true });
        const sh = (line: string, writes: string[]) =>
          call().run(
            { argv: ['sh', '-c', line], env: {}, needs: { ...NO_NEEDS, writes, subprocess: true } },
            {},
          );
        for (const [at, writes] of [
          [join(root, 'sub'), ['.']],
          [root, ['.']],
          [other, [other]],
        ] as const) {
          const { stdout } = await sh(tries(at), [...writes]);
          assert.equal(text(stdout), '');
          assert.deepEqual(snapshot(at), expected, at);
        }
        await assert.rejects(
          sh('true', [join(other, 'in/.haft')]),
          (thrown: { reason?: string }) => thrown.reason === 'sandbox.unfenceable',
        );
      });
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });
});
