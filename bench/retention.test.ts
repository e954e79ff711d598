// Owns: that `node bench/retention.ts` holds with fewer calls.
// Refuses: to measure.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';

describe('bench/retention.ts', () => {
  it('keeps of 30,000 calls what the policy says, and the audit verifies whole', () => {
    const script = join(import.meta.dirname, 'retention.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--calls', '30000'], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /audit verify: \{"ok":true,"head":\{"count":33000,/);
    const [, archived] = /segments [\d.]+ MB with (\d+) rows(?![\s\S]*segments)/.exec(stdout) ?? [];
    assert.ok(Number(archived) >= 8192, stdout);
  });
});
