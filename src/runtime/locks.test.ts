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
});
