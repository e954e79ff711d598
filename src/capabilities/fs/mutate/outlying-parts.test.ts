import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { outlyingParts } from './outlying-parts.ts';

describe('outlyingParts', () => {
  let root: string;
  before(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-outlying-')));
    chmodSync(root, 0o755);
    mkdirSync(join(root, 'deep/repo'), { recursive: true });
    writeFileSync(join(root, 'deep/repo/.git'), 'gitdir: ../../store\n');
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it('names what repositories at any depth lead to', () => {
    assert.deepEqual(outlyingParts(root, 100), [join(root, 'store')]);
  });
  it('says why where there are too many entries', () => {
    assert.match(outlyingParts(root, 2) as string, /over 2 entries/);
  });
  it('does not take a folder that cannot be read for an empty one', () => {
    chmodSync(join(root, 'deep'), 0);
    const user = process.geteuid!();
    // Root reads everything.
    if (user === 0) process.seteuid!(65534);
    try {
      assert.match(outlyingParts(root, 100) as string, /deep" cannot be read/);
    } finally {
      if (user === 0) process.seteuid!(0);
      chmodSync(join(root, 'deep'), 0o755);
    }
  });
});
