import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { locate } from '../beneath.ts';
import { makeRoots, release } from '../root.ts';
import { createDirectorySync } from './directory-sync.ts';

describe('createDirectorySync', () => {
  let ws: string;
  before(() => {
    ws = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-sync-')));
    fs.mkdirSync(path.join(ws, 'd'));
  });
  after(() => fs.rmSync(ws, { recursive: true, force: true }));

  it('lets all who come during a sync share the next one', async () => {
    const sync = createDirectorySync();
    const folder = locate(makeRoots(ws), 'd', 'sync');
    const other = locate(makeRoots(ws), '.', 'sync');
    try {
      const first = sync(folder);
      const second = sync(folder);
      const third = sync(folder);
      assert.notEqual(second, first, 'a sync that has begun promises nothing about what came after');
      assert.equal(third, second);
      assert.notEqual(sync(other), second);
      await Promise.all([first, second, third]);
      const later = sync(folder);
      assert.notEqual(later, second);
      await later;
    } finally {
      release(folder);
      release(other);
    }
  });

  it('closes what it opens', async () => {
    if (process.platform !== 'linux') return;
    const sync = createDirectorySync();
    const folder = locate(makeRoots(ws), 'd', 'sync');
    const open = () => fs.readdirSync('/proc/self/fd').length;
    const count = open();
    await Promise.all([sync(folder), sync(folder), sync(folder)]);
    assert.equal(open(), count);
    release(folder);
  });
});
