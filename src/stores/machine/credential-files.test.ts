// Owns: that what lies in the place of a credential's file is read only where it is a file.
// Refuses: what is sealed in it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { createCredentialFiles } from './credential-files.ts';

it('createCredentialFiles answers a pipe as a damaged credential, and waits for nobody', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'haft-credentials-'));
  try {
    const workspace = join(folder, 'workspace');
    const config = join(folder, 'config');
    mkdirSync(workspace);
    mkdirSync(join(config, 'haft/credentials'), { recursive: true, mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', join(config, 'haft/credentials/pipe.json')]);
    const rows = createCredentialFiles({ workspace, env: { XDG_CONFIG_HOME: config } });
    const [row] = await rows.list();
    assert.deepEqual([row?.provider, row?.box], ['pipe', '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
