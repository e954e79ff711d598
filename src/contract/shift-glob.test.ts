// Owns: that a rule of an outer workspace means the same from a folder further down.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { compilePathGlob } from './policy-match.ts';
import { shiftPathGlob } from './shift-glob.ts';

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
