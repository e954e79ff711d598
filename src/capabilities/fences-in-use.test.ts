// Owns: that what lies in the place of a record of fences is read only where it is a file.
// Refuses: what the records are for; exec/fences has that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fencesInUse } from './fences-in-use.ts';

it('fencesInUse waits for no pipe, device or folder in the place of a record', () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-fences-'));
  try {
    const folder = join(root, '.haft/placeholders');
    mkdirSync(join(folder, 'f-folder'), { recursive: true });
    execFileSync('mkfifo', [join(folder, 'f-pipe')]);
    symlinkSync('/dev/zero', join(folder, 'f-device'));
    writeFileSync(
      join(folder, 'f-whole'),
      JSON.stringify({ process: '1', entries: [{ path: '/of/a/program' }] }),
    );
    assert.deepEqual([...fencesInUse(root)], ['/of/a/program']);
  } finally {
    rmSync(root, { recursive: true });
  }
});
