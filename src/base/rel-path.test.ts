// Owns: which spellings of a path are one path, and which are refused.
// Refuses: to touch a disk.
import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { foldersUp, isUnder, joinRel, normalizeRelPath, parentOf } from './rel-path.ts';

describe('normalizeRelPath', () => {
  const accepted: [input: string, path: string][] = [
    ['a', 'a'],
    ['a/b.ts', 'a/b.ts'],
    ['./a', 'a'],
    ['a//b/', 'a/b'],
    ['a/./b', 'a/b'],
    ['a/../b', 'b'],
    ['a/b/../../c', 'c'],
    ['.', '.'],
    ['./', '.'],
    ['a/..', '.'],
    ['...', '...'],
    ['..a/b..', '..a/b..'],
    ['a\\..\\b', 'a\\..\\b'],
    ['C:\\x', 'C:\\x'],
    ['~/x', '~/x'],
    [' ', ' '],
    ['é'.repeat(127), 'é'.repeat(127)],
  ];
  for (const [input, path] of accepted) {
    it(`reads ${JSON.stringify(input.slice(0, 20))} as ${JSON.stringify(path.slice(0, 20))}`, () => {
      assert.deepEqual(normalizeRelPath(input), { ok: true, path });
    });
  }

  const refused: [name: string, input: string, reason: string][] = [
    ['an empty path', '', 'path.invalid'],
    ['NUL', 'a\0b', 'path.invalid'],
    ['a lone surrogate', 'a/\ud800', 'path.invalid'],
    ['a name of 256 bytes', `a/${'x'.repeat(256)}`, 'path.invalid'],
    ['a name of 128 characters in 256 bytes', 'é'.repeat(128), 'path.invalid'],
    ['4097 bytes', `${'abc/'.repeat(1024)}x`, 'path.invalid'],
    ['an absolute path', '/etc/passwd', 'path.outside_workspace'],
    ['a path of two slashes', '//x', 'path.outside_workspace'],
    ['..', '..', 'path.outside_workspace'],
    ['.. below', 'a/../../b', 'path.outside_workspace'],
    ['.. that comes back', '../haft/a', 'path.outside_workspace'],
  ];
  for (const [name, input, reason] of refused) {
    it(`refuses ${name} without repeating it`, () => {
      const result = normalizeRelPath(input);
      assert.ok(!result.ok);
      assert.equal(result.reason, reason);
      assert.match(result.message, /^Cannot use the path: /);
      assert.ok(!result.message.includes('passwd'));
    });
  }

  it('takes 4096 bytes', () => {
    assert.equal(normalizeRelPath('abc/'.repeat(1024)).ok, true);
  });

  it('agrees with posix.normalize wherever it accepts, and is its own fixed point', () => {
    const names = fc.array(fc.constantFrom('a', 'b', '.', '..', '', '..c', '\\'), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(names, (parts) => {
        const input = parts.join('/');
        const normal = posix.normalize(input).replace(/(?<=.)\/$/, '');
        const result = normalizeRelPath(input);
        if (!result.ok) {
          // Passing above the root refuses the path, even where it would come back down.
          const climbs = parts.some((_, i) =>
            /^\.\.(\/|$)/.test(posix.normalize(parts.slice(0, i + 1).join('/'))),
          );
          assert.ok(input === '' || input.startsWith('/') || climbs);
          return;
        }
        assert.equal(result.path, normal);
        assert.deepEqual(normalizeRelPath(result.path), result);
      }),
    );
  });
});

describe('isUnder', () => {
  it('holds for the directory itself and all beneath it, not for a longer name', () => {
    assert.equal(isUnder('a/b', 'a'), true);
    assert.equal(isUnder('a', 'a'), true);
    assert.equal(isUnder('ab', 'a'), false);
    assert.equal(isUnder('a', 'a/b'), false);
    assert.equal(isUnder('anything/else', '.'), true);
    assert.equal(isUnder('.', '.'), true);
    assert.equal(isUnder('.', 'a'), false);
  });
});

describe('parentOf and joinRel', () => {
  it('are inverse for every path but the root', () => {
    assert.equal(parentOf('a/b/c'), 'a/b');
    assert.equal(parentOf('a'), '.');
    assert.equal(parentOf('.'), '.');
    assert.equal(joinRel('.', 'a'), 'a');
    assert.equal(joinRel('a', '.'), 'a');
    assert.equal(joinRel('.', '.'), '.');
    for (const path of ['a', 'a/b', 'a/b/c']) {
      assert.equal(joinRel(parentOf(path), path.slice(path.lastIndexOf('/') + 1)), path);
    }
  });
});

describe('foldersUp', () => {
  it('names a folder and those above it, nearest first', () => {
    assert.deepEqual(foldersUp('/a/b'), ['/a/b', '/a', '/']);
    assert.deepEqual(foldersUp('/'), ['/']);
  });
});
