import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Effect } from '../../contract/effect.ts';
import { fileHarness } from './file-harness-for-tests.ts';
import { fsList } from './fs-list.ts';

const harness = await fileHarness();

describe('fs_list', () => {
  before(() => {
    for (const file of [
      'README.md',
      'src/lib.rs',
      'src/auth/mod.rs',
      'src/auth/.hidden.rs',
      'src/a b.rs',
      'src/*.rs',
      'docs/ü.md',
      '.env',
      'target/out.rs',
      'node_modules/x/index.js',
    ]) {
      harness.put(file, file);
    }
    harness.put('.gitignore', 'target/\nnode_modules/\n');
    mkdirSync(join(harness.root, 'empty'));
    mkdirSync(join(harness.root, '.git'));
    harness.put('.git/config', 'x');
    harness.put('.haft/haft.db', 'x');
    symlinkSync('src', join(harness.root, 'link'));
    symlinkSync('/etc', join(harness.root, 'outside'));
  });

  const RUST = ['src/*.rs', 'src/a b.rs', 'src/auth/mod.rs', 'src/lib.rs'];
  const TABLE: [string, Record<string, string | number | boolean>, readonly string[]][] = [
    [
      'everything that is neither hidden nor ignored',
      {},
      ['README.md', 'docs/ü.md', 'link', 'outside', ...RUST],
    ],
    ['by a pattern over folders', { glob: 'src/**/*.rs' }, RUST],
    ['by a pattern in one folder', { glob: '*.md' }, ['README.md']],
    ['by alternatives', { glob: '{docs,src/auth}/*' }, ['docs/ü.md', 'src/auth/mod.rs']],
    ['one file', { glob: 'src/lib.rs' }, ['src/lib.rs']],
    ['a name with a star in it', { glob: 'src/\\*.rs' }, ['src/*.rs']],
    ['hidden files, but never .git and .haft', { include_hidden: true, glob: '.*' }, ['.env', '.gitignore']],
    [
      'hidden files below',
      { include_hidden: true, glob: 'src/auth/*' },
      ['src/auth/.hidden.rs', 'src/auth/mod.rs'],
    ],
    [
      'ignored files',
      { include_ignored: true, glob: '**/*.{js,rs}' },
      ['node_modules/x/index.js', ...RUST, 'target/out.rs'],
    ],
    [
      'folders',
      { include_dirs: true, glob: '{empty,src}/**' },
      ['empty/', 'src/', 'src/*.rs', 'src/a b.rs', 'src/auth/', 'src/auth/mod.rs', 'src/lib.rs'],
    ],
    ...['src', 'src/', './src', './src/.', 'src//'].map(
      (glob): [string, { glob: string }, readonly string[]] => [
        `the folder ${glob}`,
        { glob },
        ['src/*.rs', 'src/a b.rs', 'src/auth/', 'src/lib.rs'],
      ],
    ),
    ...['.', './', './.'].map((glob): [string, { glob: string }, readonly string[]] => [
      `the workspace by ${glob}`,
      { glob },
      ['README.md', 'docs/', 'empty/', 'link', 'outside', 'src/'],
    ]),
    ['an empty folder', { glob: 'empty' }, []],
    ['an ignored folder that is named', { glob: 'target' }, ['target/out.rs']],
    [
      'a folder with its hidden files',
      { glob: 'src/auth/', include_hidden: true },
      ['src/auth/.hidden.rs', 'src/auth/mod.rs'],
    ],
    [
      'the folder that a link leads to, by its slash',
      { glob: 'link/' },
      ['link/*.rs', 'link/a b.rs', 'link/auth/', 'link/lib.rs'],
    ],
    ['a link by its name', { glob: 'link' }, ['link']],
    ['nothing for a file with a slash', { glob: 'README.md/' }, []],
    ['nothing of a folder that is not there', { glob: 'missing' }, []],
    ['nothing where nothing is', { glob: 'missing/**' }, []],
    ['nothing below a file', { glob: 'README.md/*' }, []],
  ];
  for (const [what, args, files] of TABLE) {
    it(`lists ${what}`, async () => {
      const { data, warnings } = await harness.call(fsList, args);
      assert.deepEqual(data, { files, count: files.length, truncated: false });
      assert.deepEqual(warnings, []);
    });
  }

  it('stops at max_results, with the first paths in order, and says so', async () => {
    const { data, warnings } = await harness.call(fsList, { glob: 'src/**', max_results: 2 });
    assert.deepEqual(data, { files: ['src/*.rs', 'src/a b.rs'], count: 2, truncated: true });
    assert.equal(warnings[0]?.reason, 'content.truncated');
  });

  it('leaves out what policy hides', async () => {
    const denies = (effect: Effect) => 'path' in effect && effect.path === 'src/lib.rs';
    const { data } = await harness.call(fsList, { glob: 'src/*' }, { denies });
    assert.deepEqual(data.files, ['src/*.rs', 'src/a b.rs']);
  });

  const EFFECTS: [string, string][] = [
    ['**', '.'],
    ['src/**/*.rs', 'src'],
    ['src/auth/mod.rs', 'src/auth'],
    ['{src,docs}/*', '.'],
  ];
  for (const [glob, path] of EFFECTS) {
    it(`declares that ${glob} looks at ${path}`, async () => {
      const { effects } = await harness.call(fsList, { glob });
      assert.deepEqual(effects, [{ kind: 'fs.read', path, tree: true }]);
    });
  }

  const REFUSED: [string, Record<string, string | number>, string][] = [
    ['a pattern that climbs', { glob: '../**' }, 'input.glob'],
    ['an absolute pattern', { glob: '/etc/*' }, 'input.glob'],
    ['an open bracket', { glob: 'src/[ab' }, 'input.glob'],
    ['an open brace', { glob: '{a,b' }, 'input.glob'],
    ['braces beyond measure', { glob: '{a,b}'.repeat(30) }, 'input.glob'],
    ['an empty pattern', { glob: '' }, 'input.schema'],
    ['no results', { max_results: 0 }, 'input.schema'],
    ['results beyond measure', { max_results: 1e9 }, 'input.schema'],
    ['an argument that there is not', { pattern: '*' }, 'input.schema'],
    ['a folder link that leaves', { glob: 'outside/*' }, 'path.outside_workspace'],
  ];
  for (const [what, args, reason] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const failure = await harness.refuse(fsList, args);
      assert.equal(failure.reason, reason, failure.message);
    });
  }
});
