import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { watchDisk } from './disk-growth.ts';

const MIB = 2 ** 20;
const bytes = (mib: number) => Buffer.alloc(mib * MIB, 'x');

describe('watchDisk', () => {
  let base: string;
  let folder: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'haft-disk-'));
    folder = join(base, 'workspace');
    mkdirSync(join(folder, 'deep'), { recursive: true });
  });
  afterEach(() => rmSync(base, { recursive: true }));

  it('counts files that have a name, however deep', () => {
    const disk = watchDisk(folder, 32 * MIB);
    writeFileSync(join(folder, 'deep/a'), bytes(20));
    assert.equal(disk.isOver([]), false);
    writeFileSync(join(folder, 'b'), bytes(40));
    assert.equal(disk.isOver([]), true);
  });

  it('counts files that only have a descriptor', () => {
    const disk = watchDisk(folder, 16 * MIB);
    const fd = openSync(join(folder, 'a'), 'w');
    unlinkSync(join(folder, 'a'));
    writeSync(fd, bytes(64));
    assert.equal(disk.isOver([process.pid]), true);
    assert.equal(disk.isOver([]), false);
    closeSync(fd);
  });

  it('blames nobody for what others write', () => {
    const disk = watchDisk(folder, 16 * MIB);
    writeFileSync(join(base, 'beside'), bytes(64));
    assert.equal(disk.isOver([process.pid]), false);
    mkdirSync(join(folder, '.haft'));
    writeFileSync(join(folder, '.haft/state'), bytes(64));
    assert.equal(disk.isOver([process.pid]), false);
    writeFileSync(join(folder, 'own'), bytes(64));
    assert.equal(disk.isOver([process.pid]), true);
  });
});
