// Owns: what is kept of a line's output.
// Refuses: to fake an object store's behaviour; it is handed chunks as a program would write them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createCapture } from './run-shell.ts';

const folder = mkdtempSync(join(tmpdir(), 'haft-capture-'));
after(() => rmSync(folder, { recursive: true }));
const objects = openObjectStore({ folder, process: 'test' });

describe('createCapture', () => {
  it('keeps what fits, without an artifact', async () => {
    const capture = createCapture(10, objects);
    assert.equal(capture.push(Buffer.from('hello')), undefined);
    assert.deepEqual(await capture.finish(), { bytes: new Uint8Array(Buffer.from('hello')), total: 5 });
  });

  it('keeps all of what is longer as an artifact', async () => {
    const capture = createCapture(3, objects);
    for (const piece of ['hello', ' ', 'world']) await capture.push(Buffer.from(piece));
    const { bytes, total, artifact } = await capture.finish();
    assert.deepEqual([Buffer.from(bytes).toString(), total], ['hel', 11]);
    assert.equal(Buffer.from(await objects.get(artifact!)).toString(), 'hello world');
  });

  it('ends also when nobody waited for the last pieces to be taken', { timeout: 30_000 }, async () => {
    for (let round = 0; round < 50; round++) {
      const capture = createCapture(1, objects);
      const pieces = Array.from({ length: round % 5 }, (_, i) => `piece ${round} ${i} ${'x'.repeat(50_000)}`);
      await capture.push(Buffer.from('first'));
      for (const piece of pieces) void capture.push(Buffer.from(piece));
      const { artifact } = await capture.finish();
      assert.equal(Buffer.from(await objects.get(artifact!)).toString(), `first${pieces.join('')}`);
    }
  });

  it('fails where the artifact cannot be kept', async () => {
    const full = { ...objects, putStream: () => Promise.reject(new Error('no space')) };
    const capture = createCapture(1, full);
    await assert.rejects(Promise.resolve(capture.push(Buffer.from('longer'))), /no space/);
    await assert.rejects(capture.finish(), /no space/);
  });
});
