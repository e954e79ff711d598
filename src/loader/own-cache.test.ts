// Owns: what is kept to start faster: how much of it, and what makes room for the rest.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readOwnBytes, readOwnCache, writeOwnCache } from './own-cache.ts';

let state: string;
let folder: string;

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'haft-cache-'));
  folder = join(state, 'cache/packs');
});
afterEach(() => rmSync(state, { recursive: true }));

describe('writeOwnCache', () => {
  it('keeps what a hundred servers have, and reads each again', () => {
    const names = Array.from({ length: 100 }, (_, n) => `server-${n}`);
    for (const name of names) writeOwnCache(folder, name, 1, { name });
    for (const name of names) assert.deepEqual(readOwnCache(folder, name, 1), { name });
    assert.equal(readOwnCache(folder, 'server-0', 2), undefined, 'of another format');
  });

  it('reads nothing from a pipe or a folder in the place of an entry, and writes it anew', () => {
    mkdirSync(join(folder, 'folder.json'), { recursive: true });
    execFileSync('mkfifo', [join(folder, 'pipe.json'), join(folder, 'pipe.bin')]);
    assert.equal(readOwnCache(folder, 'folder', 1), undefined);
    assert.equal(readOwnCache(folder, 'pipe', 1), undefined);
    assert.equal(readOwnBytes(folder, 'pipe', 1), undefined);
    writeOwnCache(folder, 'pipe', 1, 'anew');
    assert.equal(readOwnCache(folder, 'pipe', 1), 'anew');
  });

  it('makes room by taking away what was written first', () => {
    mkdirSync(folder, { recursive: true });
    for (let n = 0; n < 1_000; n++) {
      const path = join(folder, `old-${n}.json`);
      writeFileSync(path, '{}');
      utimesSync(path, n, n);
    }
    writeOwnCache(folder, 'new', 1, 'here');
    const left = readdirSync(folder);
    assert.equal(left.length, 1_000);
    assert.ok(!left.includes('old-0.json') && left.includes('old-1.json'));
    assert.equal(readOwnCache(folder, 'new', 1), 'here');
  });

  it('makes nothing behind a link that stands for the state folder', () => {
    const workspace = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-cache-')));
    mkdirSync(join(workspace, 'elsewhere'));
    symlinkSync('elsewhere', join(workspace, '.haft'));
    writeOwnCache(join(workspace, '.haft/cache/policy'), 'a', 1, 'x');
    assert.deepEqual(readdirSync(join(workspace, 'elsewhere')), []);
    rmSync(workspace, { recursive: true });
  });

  it('neither writes nor makes room behind a link', () => {
    const elsewhere = join(state, 'elsewhere');
    mkdirSync(elsewhere);
    for (let n = 0; n < 1_001; n++) writeFileSync(join(elsewhere, `${n}.txt`), '');
    mkdirSync(join(state, 'cache'));
    symlinkSync('../elsewhere', folder);
    writeOwnCache(folder, 'new', 1, 'here');
    assert.equal(readdirSync(elsewhere).length, 1_001);
    assert.equal(readOwnCache(folder, 'new', 1), undefined);
  });

  it('counts bytes as well', () => {
    mkdirSync(folder, { recursive: true });
    for (let n = 0; n < 3; n++) {
      const path = join(folder, `huge-${n}.bin`);
      writeFileSync(path, '');
      truncateSync(path, 100 * 1024 * 1024);
      utimesSync(path, n, n);
    }
    writeOwnCache(folder, 'new', 1, 'here');
    assert.deepEqual(readdirSync(folder).sort(), ['huge-1.bin', 'huge-2.bin', 'new.json']);
  });
});
