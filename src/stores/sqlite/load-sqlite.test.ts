import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

const MODULE = new URL('./load-sqlite.ts', import.meta.url).href;

describe('loadSqlite', () => {
  it('prints nothing of its own and leaves every other warning alone', () => {
    const code = `
      const { loadSqlite } = await import(${JSON.stringify(MODULE)});
      new (loadSqlite().DatabaseSync)(':memory:').close();
      process.emitWarning('something else', 'ExperimentalWarning');`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    assert.equal(child.status, 0, child.stderr);
    assert.match(child.stderr, /ExperimentalWarning: something else/);
    assert.doesNotMatch(child.stderr, /SQLite/);
  });
});
