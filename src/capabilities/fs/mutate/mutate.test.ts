import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Edit } from '../../../contract/capability.ts';
import type { ObjectStore } from '../../../contract/object-store.ts';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench, temps } from './bench-for-tests.ts';

const { write, move, copy, remove } = edit;
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

type Put = ObjectStore['put'];

function benchWith(putBy: (put: Put) => Put): TestBench {
  return createTestBench((folder) => {
    const objects = openObjectStore({ folder, process: 'test' });
    return { ...objects, put: putBy(objects.put) };
  });
}

describe('mutate', () => {
  it('shows nothing before the intent is durable, and stages before it', async () => {
    const was = bench.tree();
    let atIntent: Record<string, string> = {};
    await bench.run(
      [write('a', 'two'), write('p/q', 'n', { createDirs: true }), remove('d', { recursive: true })],
      {
        intend: async () => {
          atIntent = bench.tree();
        },
      },
    );
    const staged = temps(atIntent);
    assert.deepEqual(staged.map((name) => atIntent[name]).sort(), ['644 n', '644 two']);
    for (const name of staged) delete atIntent[name];
    assert.deepEqual(atIntent, was);
  });

  it('changes nothing when the intent cannot be recorded', async () => {
    const intend = () => Promise.reject(Object.assign(new Error('no'), { reason: 'store.unwritable' }));
    assert.equal(
      await bench.refused([write('a', 'two'), remove('d', { recursive: true })], { intend }),
      'store.unwritable',
    );
  });

  it('shows nothing before what was there is kept, although the intent is durable', async () => {
    const mayStore = Promise.withResolvers<void>();
    const intended = Promise.withResolvers<void>();
    const slow = benchWith((put) => async (bytes) => {
      if (Buffer.from(bytes).toString() === 'one') await mayStore.promise;
      return put(bytes);
    });
    try {
      const done = slow.run([write('a', 'two')], { intend: async () => intended.resolve() });
      await intended.promise;
      // Every chance to do what it should not: whole mutations that begin later and end.
      for (const text of ['1', '2', '3']) await slow.run([write('d/x', text)]);
      assert.deepEqual([slow.tree().a, slow.tree()['d/x']], ['644 one', '755 3']);
      mayStore.resolve();
      await done;
      assert.equal(slow.tree().a, '644 two');
    } finally {
      slow.close();
    }
  });

  it('changes nothing when what was there cannot be kept, be it the first or the last of many', async () => {
    const full = Object.assign(new Error('no'), { reason: 'store.unwritable' });
    for (const failing of [1, 20]) {
      let puts = 0;
      const broken = benchWith((put) => (bytes) => (++puts === failing ? Promise.reject(full) : put(bytes)));
      try {
        for (let n = 0; n < 20; n++) broken.put(`d/${n}`, `content ${n}`);
        const was = broken.tree();
        await assert.rejects(broken.run([remove('d', { recursive: true })]), { reason: 'store.unwritable' });
        assert.deepEqual(broken.tree(), was);
      } finally {
        broken.close();
      }
    }
  });

  it('restores all when a later step fails', async () => {
    const edits = [
      write('a', 'two'),
      write('p/q', 'n', { createDirs: true }),
      remove('d/e', { recursive: true }),
      move('d/x', 'a2'),
      copy('a', 'c'),
      write('d/last', 'z'),
    ];
    // Somebody else is faster with the last one.
    const intend = async () => bench.put('d/last', 'mine');
    const was = { ...bench.tree(), 'd/last': '644 mine' };
    const ino = fs.statSync(path.join(bench.ws, 'a')).ino;
    await assert.rejects(bench.run(edits, { intend }), { reason: 'file.conflict' });
    assert.deepEqual(bench.tree(), was);
    assert.equal(fs.statSync(path.join(bench.ws, 'a')).ino, ino, 'the very same file came back');
  });

  it('notices every kind of change between plan and step', async () => {
    const cases: [Edit, () => void][] = [
      [write('a', 'two'), () => bench.put('a', 'mine')],
      [remove('a'), () => bench.put('a', 'mine')],
      [remove('d', { recursive: true }), () => bench.put('d/e/new', 'mine')],
      [move('a', 'b'), () => bench.put('b', 'mine')],
      [write('new', 'n', { mustCreate: true }), () => bench.put('new', 'mine')],
    ];
    for (const [edit, change] of cases) {
      const reason = await bench.run([edit], { intend: async () => change() }).then(
        () => 'none',
        (thrown) => thrown.reason,
      );
      assert.equal(reason, 'file.conflict', JSON.stringify(edit));
      for (const name of ['b', 'new', 'd/e/new']) fs.rmSync(path.join(bench.ws, name), { force: true });
      bench.put('a', 'one');
      assert.deepEqual(Object.keys(bench.tree()).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
    }
  });

  it('notices a folder that was swapped for a link', async () => {
    const intend = async () => {
      fs.renameSync(path.join(bench.ws, 'd'), path.join(bench.ws, 'd.old'));
      fs.symlinkSync(path.join(bench.base, 'outside'), path.join(bench.ws, 'd'));
    };
    await assert.rejects(bench.run([write('d/o', 'x')], { intend }), { reason: 'path.raced' });
    assert.equal(fs.readFileSync(path.join(bench.base, 'outside/o'), 'utf8'), 'OUTSIDE');
    assert.deepEqual(fs.readdirSync(path.join(bench.base, 'outside')), ['o']);
  });

  it('stops when the call is cancelled, leaving nothing', async () => {
    const controller = new AbortController();
    const reason = Object.assign(new Error('cancelled'), { reason: 'time.cancelled' });
    const intend = async () => controller.abort(reason);
    const edits = [write('a', 'two'), write('b', 'n')];
    assert.equal(await bench.refused(edits, { signal: controller.signal, intend }), 'time.cancelled');
  });

  it('refuses special files and leaves them alone', async () => {
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [path.join(bench.ws, 'd/fifo')]);
    assert.equal(await bench.refused([write('d/fifo', 'x')]), 'path.not_regular');
    assert.equal(await bench.refused([remove('d/fifo')]), 'path.not_regular');
    assert.equal(await bench.refused([remove('d', { recursive: true })]), 'path.not_regular');
    assert.equal(await bench.refused([copy('d', 'c')]), 'path.not_regular');
    await bench.roundTrip([move('d', 'moved')]);
  });

  it('leaves no descriptor open', async () => {
    const open = () => fs.readdirSync('/proc/self/fd').length;
    if (process.platform !== 'linux') return;
    await bench.run([write('a', 'x')]);
    const before = open();
    await bench.roundTrip([
      write('p/q', 'n', { createDirs: true }),
      remove('d', { recursive: true }),
      move('a', 'b'),
    ]);
    await bench.refused([write('none/x', 'n'), write('a', 'x', { mustCreate: true })]);
    assert.equal(open(), before);
  });

  it('works by names, too, and says that it is weaker', async () => {
    const weak = createTestBench((folder) => openObjectStore({ folder, process: 'test' }), false);
    try {
      await weak.roundTrip([
        write('a', 'two'),
        write('p/q', 'n', { createDirs: true }),
        copy('d', 'c'),
        move('d', 'm'),
      ]);
      await weak.roundTrip([remove('d', { recursive: true })]);
      fs.symlinkSync(path.join(weak.base, 'outside'), path.join(weak.ws, 'out'));
      assert.equal(await weak.refused([write('out/o', 'x')]), 'path.outside_workspace');
      const { scope } = await weak.run([write('a', 'two')]);
      assert.deepEqual(
        scope.warnings.map((warning) => warning.reason),
        ['path.by_name'],
      );
    } finally {
      weak.close();
    }
  });
});
