import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { findRepositories } from './repositories.ts';

const root = mkdtempSync(join(tmpdir(), 'haft-repositories-'));
after(() => rmSync(root, { recursive: true }));

describe('findRepositories', () => {
  it('finds every .git below that of the workspace, folders and files, and follows no link', () => {
    for (const folder of [
      '.git/modules/a/.git',
      'a/.git',
      'a/b/c/.git',
      'sub',
      'node_modules/x/.git',
      'links',
    ])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'sub/.git'), 'gitdir: ../.git/modules/a\n');
    symlinkSync('../a/.git', join(root, 'links/.git'));
    symlinkSync('..', join(root, 'links/up'));
    assert.deepEqual(findRepositories(root), ['a/.git', 'a/b/c/.git', 'sub/.git']);
  });
});
