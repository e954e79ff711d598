import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createAttemptFolders } from './attempt-folders.ts';

const nothing = () => assert.fail('nothing is kept here');

describe('createAttemptFolders', () => {
  it('removes with an attempt what a process left that died while it made the folder, and nothing else', async () => {
    const root = mkdtempSync(join(tmpdir(), 'haft-attempts-'));
    try {
      for (const name of ['att_a', 'att_a.tmp_1', 'att_a.tmp_2', 'att_ab', 'att_b.tmp_3', 'slurm']) {
        mkdirSync(join(root, name, 'in'), { recursive: true });
        writeFileSync(join(root, name, 'in/text'), name);
      }
      const folders = createAttemptFolders({
        root,
        artifacts: { materialise: nothing, importPath: nothing, importStream: nothing },
      });
      assert.deepEqual([...(await folders.list())].sort(), ['att_a', 'att_ab', 'att_b']);
      await folders.remove('att_a');
      assert.deepEqual(readdirSync(root).sort(), ['att_ab', 'att_b.tmp_3', 'slurm']);
      await folders.remove('att_a');
      await assert.rejects(folders.remove('../x'), { reason: 'path.invalid' });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
