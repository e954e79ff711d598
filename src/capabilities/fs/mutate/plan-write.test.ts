import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../../base/digest.ts';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const { write, move, copy, remove } = edit;
const OWNER = { uid: process.geteuid!(), gid: process.getegid!() };
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

describe('mutate write', () => {
  it('creates and replaces, and can be taken back', async () => {
    const changes = await bench.roundTrip([write('a', 'two'), write('new', 'n')]);
    assert.deepEqual(changes, [
      {
        path: 'a',
        before: { type: 'file', object: `sha256:${sha256Hex('one')}`, size: 3, mode: 0o644, ...OWNER },
        after: { type: 'file', object: `sha256:${sha256Hex('two')}`, size: 3, mode: 0o644 },
        stored: true,
      },
      {
        path: 'new',
        before: null,
        after: { type: 'file', object: `sha256:${sha256Hex('n')}`, size: 1, mode: 0o644 },
        stored: true,
      },
    ]);
    assert.equal(Buffer.from(await bench.objects.get(`sha256:${sha256Hex('one')}`)).toString(), 'one');
  });

  it('keeps permission bits, or takes those that are given', async () => {
    await bench.run([write('d/x', 'new'), write('a', 'new', { mode: 0o600 })]);
    assert.equal(bench.tree()['d/x'], '755 new');
    assert.equal(bench.tree().a, '600 new');
  });

  it('makes folders only when asked to', async () => {
    assert.equal(await bench.refused([write('p/q/r', 'x')]), 'path.not_found');
    const changes = await bench.roundTrip([write('p/q/r', 'x', { createDirs: true }), write('p/s', 'y')]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['p', 'p/q', 'p/q/r', 'p/s'],
    );
  });

  it('writes through a link, also to where nothing is yet', async () => {
    fs.symlinkSync('d/new', path.join(bench.ws, 'dangling'));
    const changes = await bench.roundTrip([write('d/link', 'L'), write('dangling', 'D')]);
    assert.deepEqual(
      changes.map((change) => change.path),
      ['d/x', 'd/new'],
    );
  });

  it('refuses what is not there to be written', async () => {
    fs.symlinkSync(path.join(bench.base, 'outside'), path.join(bench.ws, 'out'));
    fs.symlinkSync(path.join(bench.base, 'outside/none'), path.join(bench.ws, 'out-none'));
    for (const name of [
      'out/o',
      'out/new',
      'out-none',
      '../outside/o',
      '/etc/x',
      `${bench.base}/outside/o`,
    ]) {
      assert.equal(
        await bench.refused([write(name, 'x', { createDirs: true })]),
        'path.outside_workspace',
        name,
      );
    }
    assert.equal(await bench.refused([write('d', 'x')]), 'path.is_directory');
    assert.equal(await bench.refused([write('a/b', 'x', { createDirs: true })]), 'path.not_directory');
    assert.equal(await bench.refused([write('a', 'x', { mustCreate: true })]), 'path.exists');
    assert.equal(await bench.refused([write('d/.haft-tmp-1-2-3-4', 'x')]), 'path.protected');
    assert.deepEqual(fs.readdirSync(path.join(bench.base, 'outside')), ['o']);
  });

  it('takes an absolute path below the workspace', async () => {
    const { changes } = await bench.run([write(path.join(bench.ws, 'a'), 'x')]);
    assert.equal(changes[0]?.path, 'a');
  });

  it('refuses a version that was not expected', async () => {
    const expectedSha256 = sha256Hex('other');
    assert.equal(await bench.refused([write('a', 'x', { expectedSha256 })]), 'file.conflict');
    assert.equal(await bench.refused([write('none', 'x', { expectedSha256 })]), 'file.conflict');
    await bench.run([write('a', 'x', { expectedSha256: sha256Hex('one') })]);
    assert.equal(bench.tree().a, '644 x');
  });

  it('asks about the place that a link leads to', async () => {
    const denies = (effect: { path?: string }) => effect.path === 'd/x';
    assert.equal(await bench.refused([write('d/link', 'L')], { denies: denies as never }), 'policy.denied');
    const { scope } = await bench.run([write('d/link', 'L')]);
    assert.deepEqual(scope.admitted, [
      { kind: 'fs.write', path: 'd/link' },
      { kind: 'fs.write', path: 'd/x' },
    ]);
  });

  it('builds edits of one mutation on each other', async () => {
    await bench.roundTrip([
      write('a', 'two'),
      write('a', 'three'),
      move('a', 'b'),
      copy('b', 'c'),
      remove('b'),
    ]);
  });
});
