import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { runForTests } from '../../src/hosts/cli/run-for-tests.ts';

it('audit.summary counts calls by their outcome', async () => {
  const root = mkdtempSync(join(tmpdir(), 'haft-operation-'));
  const here = ['--workspace', root];
  await runForTests(['call', 'fs_list', '{}', ...here]);
  await runForTests(['call', 'file_read', '{"path":"../x"}', ...here]);
  const { out, exit } = await runForTests(['audit', 'summary', '--json', ...here]);
  assert.equal(exit, 0);
  assert.deepEqual(JSON.parse(out), { ok: 1, denied: 1 });
  assert.match((await runForTests(['audit', 'summary', ...here])).out, /^ok {2}1$/m);
  rmSync(root, { recursive: true });
});
