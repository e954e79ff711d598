// Owns: that what lies in the place of haft.lock is read only where it is a file.
// Refuses: what is in it; lock.test.ts has that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { lockDigest, readLockFile } from './lock-file.ts';

it('readLockFile refuses a pipe in the place of haft.lock, and nobody waits for it', () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-lock-'));
  try {
    execFileSync('mkfifo', [join(root, 'haft.lock')]);
    assert.throws(() => readLockFile(root), { reason: 'lockfile.invalid', message: /not a regular file/ });
    assert.equal(lockDigest(root), 'unreadable');
  } finally {
    rmSync(root, { recursive: true });
  }
});
