import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { compileIgnoreRules, type IgnoreScope } from './ignore-rules.ts';
import { createWantedEntries, type WalkedFolder } from './wanted-entries.ts';

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
