import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openObjectStore } from '../../../stores/objects/open-object-store.ts';
import { createTestBench, edit, type TestBench } from './bench-for-tests.ts';

const { move, revert } = edit;
let bench: TestBench;
beforeEach(() => {
  bench = createTestBench((folder) => openObjectStore({ folder, process: 'test' }));
});
afterEach(() => bench.close());

describe('mutate move', () => {
  it('moves a file, and replaces one when asked to', async () => {
    assert.equal(await bench.refused([move('a', 'd/x')]), 'path.exists');
    const changes = await bench.roundTrip([move('a', 'd/x', true)]);
    assert.equal(changes[0]?.movedFrom, 'a');
    assert.equal(changes.length, 1);
  });

  it('moves a whole tree in one change', async () => {
    const changes = await bench.roundTrip([move('d', 'moved')]);
    assert.equal(changes.length, 1);
    assert.match(changes[0]?.fingerprint ?? '', /^[0-9a-f]{64}$/);
  });

  it('moves a link, not what it points at', async () => {
    await bench.roundTrip([move('d/link', 'l')]);
    await bench.run([move('d/link', 'l')]);
    assert.equal(bench.tree().l, '-> x');
  });

  it('takes an empty folder for free, and no other', async () => {
    fs.mkdirSync(path.join(bench.ws, 'empty'));
    assert.equal(await bench.refused([move('d', 'empty')]), 'path.exists');
    await bench.roundTrip([move('d', 'empty', true)]);
    bench.put('empty/z', 'z');
    assert.equal(await bench.refused([move('d', 'empty', true)]), 'path.not_empty');
    assert.equal(await bench.refused([move('a', 'empty', true)]), 'path.is_directory');
    assert.equal(await bench.refused([move('d', 'a', true)]), 'path.not_directory');
  });

  it('refuses to move into itself, onto itself, from nowhere or the workspace', async () => {
    assert.equal(await bench.refused([move('d', 'd/e/f')]), 'path.invalid');
    assert.equal(await bench.refused([move('a', 'a', true)]), 'path.invalid');
    assert.equal(await bench.refused([move('none', 'b')]), 'path.not_found');
    assert.equal(await bench.refused([move('.', 'b')]), 'path.protected');
    assert.equal(await bench.refused([move('a', 'p/q')]), 'path.not_found');
  });

  it('does not carry away what policy hides', async () => {
    const denies = (effect: { kind: string; path?: string }) =>
      effect.kind === 'fs.read' && effect.path === 'd/e/y';
    assert.equal(await bench.refused([move('d/e/y', 'b')], { denies: denies as never }), 'policy.denied');
    assert.equal(await bench.refused([move('d', 'b')], { denies: denies as never }), 'policy.denied');
    const write = (effect: { kind: string; path?: string }) =>
      effect.kind === 'fs.write' && effect.path === 'b/e/y';
    assert.equal(await bench.refused([move('d', 'b')], { denies: write as never }), 'policy.denied');
  });

  it('treats another name of the same file as such', async () => {
    fs.linkSync(path.join(bench.ws, 'a'), path.join(bench.ws, 'a2'));
    await bench.run([move('a', 'a2', true)]);
    assert.equal(bench.tree().a, undefined);
    assert.equal(bench.tree().a2, '644 one');
  });

  it('carries trees to another file system', async (t) => {
    const other = fs.mkdtempSync('/dev/shm/haft-other-');
    t.after(() => fs.rmSync(other, { recursive: true, force: true }));
    if (fs.statSync(other).dev === fs.statSync(bench.ws).dev)
      return t.diagnostic('no second file system here');
    const options = { extraRoots: [other] };
    const was = bench.tree();
    const { changes } = await bench.run([move('d', `${other}/d`), move('a', `${other}/a`)], options);
    assert.deepEqual(Object.keys(bench.tree()), []);
    assert.deepEqual(Object.keys(bench.tree(other)).sort(), ['a', 'd', 'd/e', 'd/e/y', 'd/link', 'd/x']);
    assert.equal(bench.tree(other)['d/x'], '755 ex');
    await bench.run(revert(changes), options);
    assert.deepEqual(bench.tree(), was);
    assert.deepEqual(bench.tree(other), {});
    return undefined;
  });
});
