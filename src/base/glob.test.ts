// Owns: what a glob matches (by table, and against a slow reference), and that no pattern can make it slow.
// Refuses: timing; a pattern that explodes would not end within the life of the test.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { compilePathGlob } from '../contract/policy-match.ts';
import { compileGlob, globBase, matchesName, shiftPathGlob } from './glob.ts';

describe('compileGlob', () => {
  const table: [pattern: string, matches: string[], misses: string[]][] = [
    ['src/a.ts', ['src/a.ts'], ['src/a_ts', 'src/a.tsx', 'a.ts', 'x/src/a.ts', 'src']],
    ['*.ts', ['a.ts', 'a.b.ts'], ['a/b.ts', '.ts', '.a.ts', 'ats']],
    ['*', ['a', 'a.b'], ['a/b', '.a', '.']],
    ['a?c', ['abc', 'a.c', 'a😀c'], ['ac', 'a/c', 'abbc']],
    ['**', ['a', 'a/b/c', '.'], ['.a', 'a/.b', 'a/.b/c']],
    ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/c.ts'], ['a.js', '.a/b.ts', 'a.ts/b']],
    ['src/**', ['src', 'src/a', 'src/a/b'], ['srcs', 'a/src/b', 'src/.git/x', '.']],
    ['src/**/*.rs', ['src/a.rs', 'src/a/b/c.rs'], ['src/a', 'a.rs', 'src.rs']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb', 'a/b/c', 'a']],
    ['a/**/**/b', ['a/b', 'a/x/y/b'], ['ab']],
    ['**/a/**', ['a', 'a/b', 'x/a', 'x/a/b'], ['b', 'ab/c']],
    ['a**b', ['ab', 'axxb'], ['a/b', 'ax/xb']],
    ['**a', ['a', 'xa'], ['x/a']],
    ['[a-c]x', ['ax', 'cx'], ['dx', 'x', '/x']],
    ['[!a-c]x', ['dx', '-x', '😀x'], ['ax', '/x', '.x']],
    ['[^a]', ['b'], ['a']],
    ['[]]', [']'], ['a', '[]]']],
    ['[!]]', ['a'], [']']],
    ['[a-]', ['a', '-'], ['b']],
    ['[\\]\\-a]', [']', '-', 'a'], ['\\', 'b']],
    ['[*?{]', ['*', '?', '{'], ['a']],
    ['x[.]y', ['x.y'], ['xay']],
    ['[.]x', [], ['.x']],
    ['{a,b}.ts', ['a.ts', 'b.ts'], ['c.ts', '{a,b}.ts']],
    ['{a,b{1,2}}', ['a', 'b1', 'b2'], ['b', 'b12']],
    ['{src,test}/**/*.{ts,tsx}', ['src/a.ts', 'test/x/y.tsx'], ['lib/a.ts', 'src/a.js']],
    ['{a/**,b}/c', ['a/c', 'a/x/c', 'b/c'], ['b/x/c']],
    ['a{,.bak}', ['a', 'a.bak'], ['abak']],
    ['a{b}', ['ab'], ['a{b}']],
    ['a,b', ['a,b'], ['a', 'b']],
    ['\\*\\{a\\}', ['*{a}'], ['xa', '*a']],
    ['.*', ['.a', '.gitignore'], ['a', 'a/.b']],
    ['**/.env', ['.env', 'a/.env'], ['env', 'a/.envx', '.a/.env']],
    ['./a//b/', ['a/b'], ['a', './a//b/']],
    ['.', ['.'], ['a']],
    ['a\\\\b', ['a\\b'], ['a/b', 'ab']],
    ['é*', ['été'], ['e']],
  ];
  for (const [pattern, matches, misses] of table) {
    it(`reads ${pattern}`, () => {
      const match = compileGlob(pattern);
      for (const path of matches) assert.equal(match(path), true, `${pattern} should match ${path}`);
      for (const path of misses) assert.equal(match(path), false, `${pattern} should not match ${path}`);
    });
  }

  it('lets wildcards match a leading dot when asked to', () => {
    for (const [pattern, path] of [
      ['*', '.a'],
      ['**', 'a/.b/c'],
      ['**/*.ts', '.a/.b.ts'],
      ['?x', '.x'],
      ['[.]x', '.x'],
      ['*.ts', '.ts'],
    ]) {
      assert.equal(compileGlob(pattern!, { dot: true })(path!), true, `${pattern} ${path}`);
    }
  });

  const bad = [
    '',
    '/a',
    '..',
    '../a',
    'a/../b',
    '{..,a}/b',
    '[a',
    'a[',
    '[]',
    '[!]',
    '{a',
    'a}',
    '{a,{b}',
    'a\\',
    '[z-a]',
    '[a/b]',
    '[[:alpha:]]',
    '{1..9}',
    'a\0b',
    'a'.repeat(1025),
    '{a,b}'.repeat(60),
    '{a,b}'.repeat(10) + 'a'.repeat(900),
  ];
  for (const pattern of bad) {
    it(`refuses ${JSON.stringify(pattern.slice(0, 24))}`, () => {
      for (const read of [compileGlob, globBase]) {
        assert.throws(() => read(pattern), {
          code: 'E_VALIDATION_FAIL',
          reason: 'input.glob',
          message: /^Cannot use the glob: /,
        });
      }
    });
  }

  it('agrees with a slow reference', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      '.',
      '*',
      '**',
      '?',
      '/',
      '/',
      '/**/',
      '[ab]',
      '[!a]',
      '{a,b}',
      '{a/,}',
      '{*,.b}',
      '{**,a}',
    );
    const pattern = fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join(''));
    const name = fc.stringMatching(/^[ab.]{1,4}$/).filter((text) => text !== '.' && text !== '..');
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
    fc.assert(
      fc.property(
        pattern,
        fc.array(path, { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (text, paths, dot) => {
          const alternatives = expand(text).map((each) =>
            each.split('/').filter((part) => part !== '' && part !== '.'),
          );
          fc.pre(!text.startsWith('/') && !alternatives.some((names) => names.includes('..')));
          const match = compileGlob(text, { dot });
          for (const each of paths) {
            const expected = alternatives.some((names) => matchNames(names, each.split('/'), dot));
            assert.equal(match(each), expected, `${text} on ${each}`);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('ends on patterns made to explode', () => {
    const path = `${'a'.repeat(200)}/`.repeat(20);
    const patterns = [
      `${'**/a**/'.repeat(40)}b`,
      `${'**/'.repeat(300)}b`,
      `${'*a'.repeat(500)}b`,
      `${'**/*a'.repeat(150)}b`,
      `${'?*'.repeat(500)}b`,
      `{${Array.from({ length: 60 }, (_, i) => `${'*a'.repeat(i % 7)}${i}`).join()}}`,
      `${'{a,*a}'.repeat(9)}b`,
    ];
    for (const pattern of patterns) assert.equal(compileGlob(pattern)(`${path}c`), false);
  });

  it('keeps answering the same when what it learnt is thrown away', () => {
    const match = compileGlob(`**/${'[!a]*'.repeat(100)}z`);
    const long = Array.from({ length: 3000 }, (_, i) =>
      String.fromCodePoint(0x4e00 + ((i * 7919) % 3000)),
    ).join('');
    for (let i = 0; i < 3; i++) {
      assert.equal(match(`${long}z`), true);
      assert.equal(match(`${long}y`), false);
      assert.equal(match('bz'), false);
    }
  });
});

describe('globBase', () => {
  const table: [pattern: string, base: string][] = [
    ['src/**/*.ts', 'src'],
    ['src/lib/*.ts', 'src/lib'],
    ['src/a.ts', 'src'],
    ['a.ts', '.'],
    ['**', '.'],
    ['*/a', '.'],
    ['./src//a/*', 'src/a'],
    ['s[r]c/a', '.'],
    ['a\\*/b/?', 'a*/b'],
    ['src/{a,b}/c', 'src'],
    ['{src/a,src/b}/c', 'src'],
    ['{src,test}/c', '.'],
    ['{src/a,src}/c', 'src'],
    ['.', '.'],
  ];
  for (const [pattern, base] of table) {
    it(`of ${pattern} is ${base}`, () => {
      assert.equal(globBase(pattern), base);
    });
  }
});

describe('matchesName', () => {
  const table: [pattern: string, matches: string[], misses: string[]][] = [
    ['file_*', ['file_read', 'file_'], ['file', 'a_file_read', 'fs_list']],
    ['pkg.*', ['pkg.a', 'pkg.a.b'], ['pkg', 'pkgs.a', 'pkgxa']],
    ['*', ['anything', 'a.b', ''], []],
    ['grep', ['grep'], ['grepx', 'agrep', '']],
    ['*_read', ['file_read', '_read'], ['file_reads']],
    ['a*b*c', ['abc', 'axbxc', 'abbc'], ['ac', 'acb', 'ab']],
    ['aa*aa', ['aaaa', 'aabaa'], ['aaa', 'aa']],
    ['a**b', ['ab', 'axb'], ['a']],
  ];
  for (const [pattern, matches, misses] of table) {
    it(`reads ${pattern}`, () => {
      for (const id of matches) assert.equal(matchesName(pattern, id), true, id);
      for (const id of misses) assert.equal(matchesName(pattern, id), false, id);
    });
  }

  it('agrees with a regular expression', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ab*]{0,7}$/), fc.stringMatching(/^[ab]{0,10}$/), (pattern, id) => {
        assert.equal(matchesName(pattern, id), new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(id));
      }),
      { numRuns: 1000 },
    );
  });
});

// The reference: braces by text, names by recursion, every way tried.

function expand(pattern: string): string[] {
  const brace = /\{([^{}]*)\}/.exec(pattern);
  if (!brace) return [pattern];
  const [whole, choices] = [brace[0], brace[1]!];
  return choices.split(',').flatMap((choice) => expand(pattern.replace(whole, () => choice)));
}

function matchNames(names: readonly string[], path: readonly string[], dot: boolean): boolean {
  const [name, ...rest] = names;
  if (name === undefined) return path.length === 0;
  const [first, ...others] = path;
  if (name === '**') {
    if (matchNames(rest, path, dot)) return true;
    return first !== undefined && (dot || !first.startsWith('.')) && matchNames(names, others, dot);
  }
  if (first === undefined || (!dot && first.startsWith('.') && !name.startsWith('.'))) return false;
  return matchChars(name, first) && matchNames(rest, others, dot);
}

function matchChars(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern[0] === '*')
    return matchChars(pattern.slice(1), text) || (text !== '' && matchChars(pattern, text.slice(1)));
  if (text === '') return false;
  if (pattern.startsWith('[ab]')) return /[ab]/.test(text[0]!) && matchChars(pattern.slice(4), text.slice(1));
  if (pattern.startsWith('[!a]')) return text[0] !== 'a' && matchChars(pattern.slice(4), text.slice(1));
  return (pattern[0] === '?' || pattern[0] === text[0]) && matchChars(pattern.slice(1), text.slice(1));
}

describe('shiftPathGlob', () => {
  const cases: readonly (readonly [glob: string, folder: string, shifted: readonly string[]])[] = [
    ['secrets', 'sub', []],
    ['sub/secrets', 'sub', ['secrets']],
    ['**/.env*', 'a/b', ['**/.env*']],
    ['sub', 'sub', ['*', '*/**', '.']],
    ['sub', 'sub/deep', ['*', '*/**', '.']],
    ['*/secrets', 'sub', ['secrets']],
    ['{a,sub}/x', 'sub', ['x']],
    ['su*', 'sub', []],
    ['/data/**', 'sub', ['/data/**']],
  ];
  for (const [glob, folder, shifted] of cases) {
    it(`reads ${glob} from ${folder} as ${shifted.join(' ') || 'nothing'}`, () => {
      assert.deepEqual([...shiftPathGlob(glob, folder)].sort(), [...shifted].sort());
    });
  }

  it('matches exactly what the glob matches from above', () => {
    const name = fc.constantFrom('a', 'b', '.c', 'a[b', 'x,y');
    const part = fc.constantFrom(
      'a',
      'b',
      '*',
      '**',
      '?',
      '.c',
      '{a,b}',
      '[ab]',
      '[!a]',
      'a*',
      'a\\[b',
      '{a,*/b}',
      'x,y',
    );
    const path = (least: number) =>
      fc.array(name, { minLength: least, maxLength: 3 }).map((names) => names.join('/'));
    const glob = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(glob, path(1), path(1), (pattern, folder, below) => {
        const shifted = shiftPathGlob(pattern, folder);
        assert.equal(
          shifted.some((one) => compilePathGlob(one).matches(below)),
          compilePathGlob(pattern).matches(`${folder}/${below}`),
          `${pattern} from ${folder}: ${shifted.join(' ')} on ${below}`,
        );
      }),
      { numRuns: 3000 },
    );
  });
});
