import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os, { tmpdir } from 'node:os';
import path, { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { compileGlob } from '../../base/glob.ts';
import type { Listing, ListQuery } from '../../contract/capability.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createFsHandle } from './handle.ts';
import { compileIgnoreRules, type IgnoreScope } from './ignore-rules.ts';
import { createWantedEntries, type WalkedFolder } from './list.ts';
import { createTestScope, type TestScopeOptions } from './scope-for-tests.ts';

let base: string;
let ws: string;

const FILES = [
  ...['b.ts', 'a.ts', 'README.md', '.env', 'a-b', 'a/x.ts', 'a/y.log', 'a/.hidden/z.ts', 'a.b/c', 'a0', 'Z'],
  ...['src/main.ts', 'src/lib/util.ts', 'src/lib/deep/er/x.ts', 'src/lib.ts', 'src/gen/out.ts', 'é/ü.ts'],
  ...['.github/workflows/ci.yml', '.haft/haft.db', '.git/config', 'sub/.git', 'sub/.haft/x', 'build/o.js'],
  ...['\u{1f600}', '\uff5e', '.haft-tmp-1-2-3-4', 'src/.haft-tmp-1-2-3-5/x'],
];

before(() => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-walk-')));
  ws = path.join(base, 'ws');
  for (const file of FILES) {
    fs.mkdirSync(path.dirname(path.join(ws, file)), { recursive: true });
    fs.writeFileSync(path.join(ws, file), '');
  }
  fs.writeFileSync(path.join(ws, '.gitignore'), '*.log\nbuild/\n');
  fs.writeFileSync(path.join(ws, 'src/.gitignore'), '/gen\n');
  fs.mkdirSync(path.join(base, 'outside'));
  fs.writeFileSync(path.join(base, 'outside/secret'), '');
  fs.symlinkSync('../outside', path.join(ws, 'leaves'));
  fs.symlinkSync('src/lib', path.join(ws, 'lib-link'));
  execFileSync('mkfifo', [path.join(ws, 'fifo')]);
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

async function list(query: Partial<ListQuery>, options?: TestScopeOptions): Promise<Listing> {
  const objects = openObjectStore({ folder: path.join(base, 'objects'), process: 'test' });
  const handle = createFsHandle(createTestScope(ws, objects, options));
  return handle.list({ glob: '**', maxResults: 1e6, includeHidden: false, includeIgnored: false, ...query });
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const VISIBLE = [
  ...['README.md', 'Z', 'a-b', 'a.b/c', 'a.ts', 'a/x.ts', 'a0', 'b.ts', 'leaves', 'lib-link', 'src/lib.ts'],
  ...['src/lib/deep/er/x.ts', 'src/lib/util.ts', 'src/main.ts', 'é/ü.ts', '\uff5e', '\u{1f600}'],
];

describe('list', () => {
  it('names files and links in bytewise order, without what is hidden, ignored or machinery', async () => {
    assert.deepEqual(await list({}), { files: VISIBLE, truncated: false });
    assert.deepEqual(VISIBLE, VISIBLE.toSorted(byBytes));
  });

  it('adds hidden and ignored files when asked to, and never machinery', async () => {
    const { files } = await list({ includeHidden: true, includeIgnored: true });
    const extra = [
      '.env',
      '.github/workflows/ci.yml',
      '.gitignore',
      'a/.hidden/z.ts',
      'a/y.log',
      'build/o.js',
    ];
    assert.deepEqual(files, [...VISIBLE, ...extra, 'src/.gitignore', 'src/gen/out.ts'].sort(byBytes));
  });

  it('adds folders when asked to', async () => {
    const { files } = await list({ glob: 'src/**', includeDirs: true });
    assert.deepEqual(files, [
      ...['src/lib.ts', 'src/lib/', 'src/lib/deep/', 'src/lib/deep/er/', 'src/lib/deep/er/x.ts'],
      ...['src/lib/util.ts', 'src/main.ts'],
    ]);
  });

  it('answers the first results and says when there are more', async () => {
    for (const maxResults of [0, 1, 5, VISIBLE.length - 1]) {
      assert.deepEqual(await list({ maxResults }), { files: VISIBLE.slice(0, maxResults), truncated: true });
    }
    assert.deepEqual(await list({ maxResults: VISIBLE.length }), { files: VISIBLE, truncated: false });
  });

  it('takes what the glob spells out at its word', async () => {
    assert.deepEqual((await list({ glob: '.github/**' })).files, ['.github/workflows/ci.yml']);
    assert.deepEqual((await list({ glob: '**/.hidden/*.ts' })).files, ['a/.hidden/z.ts']);
    assert.deepEqual((await list({ glob: '{.env,Z}' })).files, ['.env', 'Z']);
    assert.deepEqual((await list({ glob: 'build/*.js' })).files, ['build/o.js']);
    assert.deepEqual((await list({ glob: 'lib-link/*' })).files, ['lib-link/util.ts']);
    assert.deepEqual((await list({ glob: 'src/main.ts' })).files, ['src/main.ts']);
    assert.deepEqual((await list({ glob: 'README.md/**' })).files, ['README.md']);
    assert.deepEqual((await list({ glob: 'src\\/lib/*.ts' })).files, ['src/lib/util.ts']);
  });

  it('matches nothing where nothing is', async () => {
    for (const glob of ['none/**', 'a.ts/x', '.haft/**/*.none', 'src/none*']) {
      assert.deepEqual(await list({ glob }), { files: [], truncated: false }, glob);
    }
  });

  it('refuses to begin outside', async () => {
    await assert.rejects(list({ glob: 'leaves/*' }), { reason: 'path.outside_workspace' });
    for (const glob of ['../**', '/etc/*', '[', ''])
      await assert.rejects(list({ glob }), { reason: 'input.glob' });
  });

  it('leaves out what policy hides, and asks about the real place', async () => {
    const denies = (effect: { path?: string }) => effect.path === 'src/lib/util.ts' || effect.path === 'a.ts';
    const options = { denies: denies as never };
    const { files } = await list({}, options);
    assert.deepEqual(
      files,
      VISIBLE.filter((file) => file !== 'src/lib/util.ts' && file !== 'a.ts'),
    );
    assert.deepEqual((await list({ glob: 'lib-link/**' }, options)).files, ['lib-link/deep/er/x.ts']);
  });

  it('stops when the call is cancelled', async () => {
    const signal = AbortSignal.abort(Object.assign(new Error('cancelled'), { reason: 'time.cancelled' }));
    const deep = path.join(ws, 'deep');
    for (let i = 0; i < 2000; i++) fs.mkdirSync(path.join(deep, String(i)), { recursive: true });
    try {
      await assert.rejects(list({ glob: 'deep/**' }, { signal }), { reason: 'time.cancelled' });
    } finally {
      fs.rmSync(deep, { recursive: true });
    }
  });

  it('agrees with rg on the same tree', async () => {
    const tree = path.join(ws, 'src');
    const args = ['--files', '--no-require-git', '--no-config', '--null', '.'];
    const out = execFileSync('rg', args, { cwd: tree, encoding: 'utf8' });
    const theirs = out
      .split('\0')
      .slice(0, -1)
      .map((file) => `src/${file.slice(2)}`);
    assert.deepEqual((await list({ glob: 'src/**' })).files, theirs.sort(byBytes));
  });

  it('prunes nothing that the glob matches', async () => {
    const everything = (await list({ includeHidden: true, includeIgnored: true })).files;
    const name = fc.constantFrom(
      '*',
      '**',
      'src',
      'lib',
      '*.ts',
      'a',
      '.*',
      '?',
      '.hidden',
      'l*',
      '{a,src}',
      '[a-s]*',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (names, hidden) => {
          const glob = names.join('/');
          const matches = compileGlob(glob, { dot: hidden });
          const { files } = await list({ glob, includeHidden: hidden, includeIgnored: true });
          const expected = everything.filter((file) => matches(file));
          // A link that the glob names as a folder is followed; what lies behind is not among everything.
          assert.deepEqual(
            files.filter((file) => !file.startsWith('lib-link/')),
            expected,
            glob,
          );
        },
      ),
      { numRuns: 200 },
    );
  });
});

const folder = fs.mkdtempSync(join(tmpdir(), 'haft-wanted-'));
after(() => fs.rmSync(folder, { recursive: true, force: true }));
for (const name of ['b.ts', 'a.ts', 'c.md', '.git', '.hidden']) fs.writeFileSync(join(folder, name), '');
fs.mkdirSync(join(folder, 'a'));
fs.symlinkSync('a.ts', join(folder, 'link'));
const entries = fs.readdirSync(folder, { withFileTypes: true });

const all = (_: string) => true;
const isTs = (name: string) => name.endsWith('.ts');
const here: WalkedFolder = { real: 'src/', shown: 'src/', ignore: undefined };
const everything = { matcherIn: () => all, visible: all };
const scopeOf = (text: string): IgnoreScope => ({
  rules: compileIgnoreRules(text)!,
  depth: 4,
  parent: undefined,
});

describe('createWantedEntries', () => {
  it('answers in bytewise order, folders with a slash, never .git', () => {
    const wanted = createWantedEntries()(entries, here, everything);
    assert.deepEqual(
      wanted.map(({ path }) => path),
      ['src/.hidden', 'src/a.ts', 'src/a/', 'src/b.ts', 'src/c.md', 'src/link'],
    );
    assert.deepEqual(wanted[2], { name: 'a', path: 'src/a/', isFolder: true });
  });

  it('answers the same question of the same folder from memory', () => {
    const wantedIn = createWantedEntries();
    const scope = scopeOf('*.md');
    const first = wantedIn(entries, { ...here, ignore: scope }, everything);
    assert.equal(wantedIn(entries, { ...here, ignore: { ...scope } }, everything), first);
  });

  const scope = scopeOf('*.md');
  const OTHERS: readonly (readonly [string, Partial<WalkedFolder>, Partial<typeof everything>, number])[] = [
    ['another glob', {}, { matcherIn: () => isTs }, 3],
    ['what policy hides', {}, { visible: (rel: string) => rel !== 'src/a.ts' }, 5],
    ['an ignore file', { ignore: scope }, {}, 5],
    ['another ignore file', { ignore: scopeOf('*.ts') }, {}, 4],
    ['an ignore file above', { ignore: { ...scope, parent: scopeOf('*.ts') } }, {}, 3],
    ['another way to it', { shown: 'link/' }, {}, 6],
    ['another place', { real: 'lib/' }, {}, 6],
  ];
  for (const [what, place, query, count] of OTHERS) {
    it(`looks again for ${what}`, () => {
      const wantedIn = createWantedEntries();
      const first = wantedIn(entries, here, everything);
      const second = wantedIn(entries, { ...here, ...place }, { ...everything, ...query });
      assert.notEqual(second, first);
      assert.equal(second.length, count);
      assert.ok(second.every(({ path }) => path.startsWith(place.shown ?? 'src/')));
    });
  }
});
