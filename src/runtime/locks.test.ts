import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { locksFor } from './locks.ts';

describe('locksFor', () => {
  it('locks what is written, sorted, and nothing that is only read', () => {
    assert.deepEqual(
      locksFor([
        { kind: 'fs.write', path: 'b' },
        { kind: 'fs.read', path: 'c' },
        { kind: 'fs.write', path: 'a', tree: true },
      ]),
      [
        { path: 'a', tree: true },
        { path: 'b', tree: false },
      ],
    );
  });
  it('asks once for a path that is named twice, for the tree if either does', () => {
    assert.deepEqual(
      locksFor([
        { kind: 'fs.write', path: 'a', tree: true },
        { kind: 'fs.write', path: 'a' },
      ]),
      [{ path: 'a', tree: true }],
    );
  });
  it('lets calls wait for each other that could make a repository of one folder together', () => {
    const paths = (path: string) => locksFor([{ kind: 'fs.write', path }]).map((lock) => lock.path);
    assert.deepEqual(paths('sub/commondir'), ['sub/HEAD', 'sub/commondir']);
    assert.deepEqual(paths('sub/HEAD'), ['sub/HEAD']);
    assert.deepEqual(paths('a/objects/b/refs/c'), ['a/HEAD', 'a/objects/b/HEAD', 'a/objects/b/refs/c']);
    assert.deepEqual(paths('refs'), ['HEAD', 'refs']);
    assert.deepEqual(paths('sub/HEADS'), ['sub/HEADS']);
  });
});
