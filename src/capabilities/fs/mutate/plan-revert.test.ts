import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createFsHandle } from '../handle.ts';
import { createTestScope } from '../scope-for-tests.ts';
import { bytes, createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const { write, move, revert } = edit;
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

describe('mutate revert', () => {
  it('refuses to destroy later work', async () => {
    const { changes } = await bench.run([
      write('a', 'two'),
      write('new', 'n'),
      write('p/q', 'q', { createDirs: true }),
    ]);
    const back = revert(changes);
    bench.put('a', 'mine');
    assert.equal(await bench.refused(back), 'undo.conflict');
    bench.put('a', 'two');
    fs.chmodSync(path.join(bench.ws, 'new'), 0o600);
    assert.equal(await bench.refused(back), 'undo.conflict');
    fs.chmodSync(path.join(bench.ws, 'new'), 0o644);
    await bench.run(back);
    assert.deepEqual(Object.keys(bench.tree()).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
  });

  it('leaves a folder that others use by now, and says so', async () => {
    const { changes } = await bench.run([write('p/q', 'q', { createDirs: true })]);
    bench.put('p/other', 'mine');
    const { changes: undone, scope } = await bench.run(revert(changes));
    assert.deepEqual(
      undone.map((change) => change.path),
      ['p/q'],
    );
    assert.equal(bench.tree()['p/other'], '644 mine');
    assert.match(scope.warnings[0]?.message ?? '', /Left the folder "p"/);
  });

  it('refuses to move a tree back that was changed since', async () => {
    const { changes } = await bench.run([move('d', 'moved')]);
    const back = revert(changes);
    bench.put('moved/e/y', 'other');
    assert.equal(await bench.refused(back), 'undo.conflict');
  });

  it('refuses to move back to where something is', async () => {
    const { changes } = await bench.run([move('a', 'b')]);
    bench.put('a', 'mine');
    assert.equal(await bench.refused(revert(changes)), 'undo.conflict');
  });

  it('completes what was half done', async () => {
    const scope = createTestScope(bench.ws, bench.objects);
    const planned = await createFsHandle(scope).preview([write('a', 'two'), write('new', 'n')]);
    for (const change of planned) if (change.before?.type === 'file') await bench.objects.put(bytes('one'));
    bench.put('new', 'n');
    const { changes } = await bench.run(
      planned.toReversed().map((change) => ({ op: 'revert', change: { ...change, stored: true } })),
    );
    assert.deepEqual(
      changes.map((change) => change.path),
      ['new'],
    );
    assert.equal(bench.tree().new, undefined);
  });
});
