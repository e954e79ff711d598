import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const { copy } = edit;
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

describe('mutate copy', () => {
  it('copies files with or without their permission bits', async () => {
    await bench.roundTrip([copy('d/x', 'x1'), copy('d/x', 'x2', { preserveMode: true })]);
    await bench.run([copy('d/x', 'x1'), copy('d/x', 'x2', { preserveMode: true })]);
    assert.equal(bench.tree().x1, '644 ex');
    assert.equal(bench.tree().x2, '755 ex');
  });

  it('copies trees, links as links', async () => {
    await bench.roundTrip([copy('d', 'p/d2', { createDirs: true, preserveMode: true })]);
    await bench.run([copy('d', 'd2', { preserveMode: true })]);
    assert.deepEqual(bench.tree(path.join(bench.ws, 'd2')), bench.tree(path.join(bench.ws, 'd')));
  });

  it('merges onto a folder when it may overwrite', async () => {
    fs.mkdirSync(path.join(bench.ws, 'm'));
    bench.put('m/x', 'old');
    bench.put('m/z', 'z');
    assert.equal(await bench.refused([copy('d', 'm')]), 'path.exists');
    await bench.roundTrip([copy('d', 'm', { overwrite: true })]);
    await bench.run([copy('d', 'm', { overwrite: true })]);
    assert.equal(bench.tree()['m/x'], '644 ex');
    assert.equal(bench.tree()['m/z'], '644 z');
  });

  it('follows the link that it is given, inside only', async () => {
    fs.symlinkSync(path.join(bench.base, 'outside/o'), path.join(bench.ws, 'out'));
    await bench.run([copy('d/link', 'l')]);
    assert.equal(bench.tree().l, '644 ex');
    assert.equal(await bench.refused([copy('out', 'o')]), 'path.outside_workspace');
  });

  it('asks about every entry of a tree', async () => {
    for (const kind of ['fs.read', 'fs.write']) {
      const denied = kind === 'fs.read' ? 'd/e/y' : 'c/e/y';
      const denies = (effect: { kind: string; path?: string }) =>
        effect.kind === kind && effect.path === denied;
      assert.equal(await bench.refused([copy('d', 'c')], { denies: denies as never }), 'policy.denied');
    }
  });

  it('refuses a copy into itself', async () => {
    assert.equal(await bench.refused([copy('d', 'd/e/f')]), 'path.invalid');
    assert.equal(await bench.refused([copy('a', 'a', { overwrite: true })]), 'path.invalid');
  });
});
