import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const { write, copy, remove, revert } = edit;
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

describe('mutate delete', () => {
  it('deletes files, links, empty folders and, when asked to, trees', async () => {
    fs.mkdirSync(path.join(bench.ws, 'empty'));
    await bench.roundTrip([remove('a'), remove('d/link'), remove('empty')]);
    assert.equal(await bench.refused([remove('d')]), 'path.not_empty');
    const changes = await bench.roundTrip([remove('d', { recursive: true })]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['d/x', 'd/link', 'd/e/y', 'd/e', 'd'],
    );
  });

  it('deletes a link that leaves, not what it points at', async () => {
    fs.symlinkSync(path.join(bench.base, 'outside'), path.join(bench.ws, 'out'));
    await bench.roundTrip([remove('out', { recursive: true })]);
    assert.equal(fs.readFileSync(path.join(bench.base, 'outside/o'), 'utf8'), 'OUTSIDE');
    assert.equal(await bench.refused([remove('out/o')]), 'path.outside_workspace');
  });

  it('takes nothing for a failure unless forced', async () => {
    assert.equal(await bench.refused([remove('none')]), 'path.not_found');
    assert.equal(await bench.refused([remove('a/b')]), 'path.not_found');
    const { changes, scope } = await bench.run([
      remove('none', { force: true }),
      remove('a/b', { force: true }),
    ]);
    assert.deepEqual([changes, scope.intents], [[], []]);
    assert.equal(await bench.refused([remove('.', { recursive: true, force: true })]), 'path.protected');
  });

  it('asks about every entry of a tree', async () => {
    const denies = (effect: { path?: string }) => effect.path === 'd/e/y';
    assert.equal(
      await bench.refused([remove('d', { recursive: true })], { denies: denies as never }),
      'policy.denied',
    );
  });

  it('refuses more than undo may keep, unless nothing is to be kept', async () => {
    const undo = { keep: true, maxBytes: 4 };
    assert.equal(await bench.refused([remove('d', { recursive: true })], { undo }), 'undo.too_large');
    const { changes } = await bench.run([remove('d', { recursive: true })], {
      undo: { keep: false, maxBytes: 4 },
    });
    assert.equal(changes.find((change) => change.path === 'd/x')?.stored, false);
    const back = revert(changes);
    assert.equal(await bench.refused(back), 'object.missing');
  });

  it('keeps large files, too', async () => {
    bench.put('big', 'x'.repeat(3 * 1024 * 1024));
    await bench.roundTrip([remove('big')]);
    await bench.roundTrip([write('big', 'small')]);
    await bench.roundTrip([copy('big', 'big2')]);
  });
});
