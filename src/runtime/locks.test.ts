import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLocked, locksFor } from './locks.ts';

const NO_LINKS = () => [];

describe('locksFor', () => {
  it('locks what is written, sorted, and nothing that is only read', () => {
    assert.deepEqual(
      locksFor(
        [
          { kind: 'fs.write', path: 'b' },
          { kind: 'fs.read', path: 'c' },
          { kind: 'fs.write', path: 'a', tree: true },
        ],
        NO_LINKS,
      ),
      [
        { path: 'a', tree: true },
        { path: 'b', tree: false },
      ],
    );
  });
  it('asks once for a path that is named twice, for the tree if either does', () => {
    assert.deepEqual(
      locksFor(
        [
          { kind: 'fs.write', path: 'a', tree: true },
          { kind: 'fs.write', path: 'a' },
        ],
        NO_LINKS,
      ),
      [{ path: 'a', tree: true }],
    );
  });
  it('lets calls wait for each other that could make a repository of one folder together', () => {
    const paths = (path: string) => locksFor([{ kind: 'fs.write', path }], NO_LINKS).map((lock) => lock.path);
    assert.deepEqual(paths('sub/commondir'), ['sub/HEAD', 'sub/commondir']);
    assert.deepEqual(paths('sub/HEAD'), ['sub/HEAD']);
    assert.deepEqual(paths('a/objects/b/refs/c'), ['a/HEAD', 'a/objects/b/HEAD', 'a/objects/b/refs/c']);
    assert.deepEqual(paths('refs'), ['HEAD', 'refs']);
    assert.deepEqual(paths('sub/HEADS'), ['sub/HEADS']);
  });
  it('locks where links lead as well, with what could become a repository there', () => {
    const realNames = (path: string) => (path === 'l/refs/x' ? ['d/refs/x'] : []);
    assert.deepEqual(locksFor([{ kind: 'fs.write', path: 'l/refs/x', tree: true }], realNames), [
      { path: 'd/HEAD', tree: false },
      { path: 'd/refs/x', tree: true },
      { path: 'l/HEAD', tree: false },
      { path: 'l/refs/x', tree: true },
    ]);
  });
});

describe('isLocked', () => {
  const locks = locksFor(
    [
      { kind: 'fs.write', path: 'a/file' },
      { kind: 'fs.write', path: 'b', tree: true },
      { kind: 'fs.write', path: '/beside/c', tree: true },
    ],
    NO_LINKS,
  );
  it('holds for what was locked, and for what lies below a tree', () => {
    for (const path of ['a/file', 'b', 'b/x/y', '/beside/c', '/beside/c/d'])
      assert.ok(isLocked(locks, path), path);
    for (const path of ['a', 'a/file/x', 'a/other', 'bb', '.', '/beside', '/beside/cc'])
      assert.ok(!isLocked(locks, path), path);
  });
  it('holds for everything, extra roots too, where the workspace is locked', () => {
    const whole = locksFor([{ kind: 'fs.write', path: '.', tree: true }], NO_LINKS);
    for (const path of ['.', 'a/b', '/beside/c']) assert.ok(isLocked(whole, path), path);
  });
});
