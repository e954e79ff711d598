// Owns: `haft toolpack new` and `check` as a person meets them, and that every toolpack of examples/ passes its own check.
// Refuses: engines.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { NODE_ARGS } from './support/haft.ts';

const ROOT = join(import.meta.dirname, '../..');

const haft = (args: readonly string[], cwd: string) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...NODE_ARGS, ...args], {
    cwd,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

describe('haft toolpack', () => {
  for (const folder of globSync('examples/toolpacks/*', { cwd: ROOT }).sort()) {
    it(`check finds nothing wrong with ${basename(folder)}`, () => {
      const { status, stdout, stderr } = haft(['toolpack', 'check', join(ROOT, folder), '--json'], ROOT);
      assert.equal(status, 0, stdout + stderr);
      assert.equal(JSON.parse(stdout).ok, true);
    });
  }

  it('new writes the example text_stats for that name', () => {
    const place = mkdtempSync(join(tmpdir(), 'haft-new-'));
    try {
      const made = haft(['toolpack', 'new', 'text_stats', '--json'], place);
      assert.equal(made.status, 0, made.stderr);
      for (const file of ['toolpack.ts', 'calls/first.json', 'calls/first.txt']) {
        const [written, example] = [
          join(place, 'text_stats', file),
          join(ROOT, 'examples/toolpacks/text_stats', file),
        ];
        assert.equal(readFileSync(written, 'utf8'), readFileSync(example, 'utf8'), file);
      }
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });

  it('new writes a toolpack that passes its check, and never over anything', () => {
    const place = mkdtempSync(join(tmpdir(), 'haft-new-'));
    try {
      const made = haft(['toolpack', 'new', 'my_tool', '--json'], place);
      assert.equal(made.status, 0, made.stderr);
      for (const file of JSON.parse(made.stdout).files)
        assert.ok(existsSync(join(place, 'my_tool', file)), file);
      const checked = haft(['toolpack', 'check', 'my_tool'], place);
      assert.equal(checked.status, 0, checked.stdout + checked.stderr);
      assert.match(checked.stdout, /my_tool: fine/);
      assert.equal(haft(['toolpack', 'new', 'my_tool'], place).status, 5);
      assert.equal(haft(['toolpack', 'new', 'My-Tool'], place).status, 2);

      const module = join(place, 'my_tool/toolpack.ts');
      writeFileSync(module, readFileSync(module, 'utf8').replace("abiVersion: 'v1'", "abiVersion: 'v9'"));
      const broken = haft(['toolpack', 'check', 'my_tool'], place);
      assert.equal(broken.status, 2);
      assert.match(broken.stderr, /toolpack\.ts:\d+:\d+: error abi\.unknown/);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});
