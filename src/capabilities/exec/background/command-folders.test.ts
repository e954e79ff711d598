import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { createCommandFolders } from './command-folders.ts';

const refused = (workspace: string) => {
  const folders = createCommandFolders();
  try {
    folders.take(workspace);
    return undefined;
  } catch (thrown) {
    return (thrown as { reason: string }).reason;
  } finally {
    folders.close();
  }
};

describe('command folders', () => {
  it('hold whole files, each name once, and are used again empty', () => {
    const folders = createCommandFolders();
    const one = folders.take('/nowhere');
    const [a, b] = [one.put('first'), one.put('second')];
    assert.notEqual(a, b);
    assert.deepEqual(readdirSync(one.path).sort(), [a, b].sort());
    assert.equal(readFileSync(join(one.path, b), 'utf8'), 'second');
    assert.notEqual(folders.take('/nowhere').path, one.path);
    one.release();
    assert.deepEqual(readdirSync(one.path), []);
    assert.equal(folders.take('/nowhere').path, one.path);
    assert.equal(statSync(dirname(one.path)).mode & 0o777, 0o711);
    folders.close();
    assert.equal(existsSync(dirname(one.path)), false);
  });

  it('lie outside of the workspace, or nowhere', () => {
    const folders = createCommandFolders();
    const { path } = folders.take(tmpdir());
    assert.ok(!path.startsWith(`${tmpdir()}/`) || tmpdir() === '/var/tmp', path);
    folders.close();
    for (const workspace of ['/', '/work', '/work/haft-commands'])
      assert.equal(refused(workspace), 'shell.failed');
  });
});
