import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { locate } from './beneath.ts';
import { type FileBytes, type ReadFileOptions, readLocated } from './read-file.ts';
import { makeRoots, type Root, release } from './root.ts';

let ws: string;
let root: Root;
const BIG = 1024 * 1024 + 17;

before(() => {
  ws = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-read-')));
  root = makeRoots(ws);
  fs.writeFileSync(path.join(ws, 'empty'), '');
  fs.writeFileSync(path.join(ws, 'small'), '0123456789', { mode: 0o640 });
  fs.writeFileSync(path.join(ws, 'big'), Buffer.alloc(BIG, 'ab'));
});
after(() => fs.rmSync(ws, { recursive: true, force: true }));

async function read(rel: string, options?: ReadFileOptions): Promise<FileBytes> {
  const found = locate(root, rel, 'read');
  try {
    return await readLocated(found, options);
  } finally {
    release(found);
  }
}
const text = async (rel: string, options?: ReadFileOptions) =>
  Buffer.from((await read(rel, options)).bytes).toString();

describe('readLocated', () => {
  it('reads files whole, with what they are', async () => {
    assert.equal(await text('empty'), '');
    const small = await read('small');
    assert.equal(Buffer.from(small.bytes).toString(), '0123456789');
    assert.equal(small.stat.size, 10n);
    assert.equal(small.stat.mode & 0o777n, 0o640n);
    assert.deepEqual((await read('big')).bytes, Buffer.alloc(BIG, 'ab'));
  });

  it('answers small files at once and large ones later', async () => {
    const small = locate(root, 'small', 'read');
    assert.equal(readLocated(small) instanceof Promise, false);
    release(small);
    const big = locate(root, 'big', 'read');
    const promise = readLocated(big);
    release(big);
    assert.equal(promise instanceof Promise, true);
    await promise;
  });

  it('reads ranges', async () => {
    assert.equal(await text('small', { range: { start: 2, end: 5 } }), '234');
    assert.equal(await text('small', { range: { start: 8, end: 99 } }), '89');
    assert.equal(await text('small', { range: { start: 10, end: 99 } }), '');
    assert.equal((await read('small', { range: { start: 2, end: 5 } })).stat.size, 10n);
    assert.equal((await read('big', { range: { start: 1, end: BIG } })).bytes.length, BIG - 1);
    assert.equal(await text('big', { range: { start: BIG - 3, end: BIG } }), 'aba');
  });

  it('refuses ranges outside of the file', async () => {
    for (const range of [
      { start: 11, end: 12 },
      { start: 5, end: 4 },
      { start: -1, end: 4 },
    ]) {
      await assert.rejects(read('small', { range }), { reason: 'input.range' });
    }
  });

  it('refuses what is over the cap and says how large it is', async () => {
    await assert.rejects(read('small', { maxBytes: 9 }), {
      reason: 'file.too_large',
      details: { size: 10, max_bytes: 9 },
      message: 'Cannot read "small": it is 10 bytes, over max_bytes 9',
    });
    await assert.rejects(read('big', { maxBytes: 1024 }), { reason: 'file.too_large' });
    assert.equal(await text('small', { maxBytes: 10 }), '0123456789');
    assert.equal(await text('big', { maxBytes: 2, range: { start: 0, end: 2 } }), 'ab');
    await assert.rejects(read('big', { maxBytes: 2, range: { start: 0, end: 3 } }), {
      reason: 'file.too_large',
    });
  });

  it('reads what a file tells to be empty and is not', async () => {
    const proc = makeRoots('/proc');
    const found = locate(proc, 'version', 'read');
    try {
      const { bytes } = await readLocated(found);
      assert.equal(Buffer.from(bytes).toString(), fs.readFileSync('/proc/version', 'utf8'));
      await assert.rejects(async () => readLocated(found, { maxBytes: 3 }), { reason: 'file.too_large' });
    } finally {
      release(found);
    }
  });

  it('stops when the call is cancelled', async () => {
    const signal = AbortSignal.abort(Object.assign(new Error('cancelled'), { reason: 'time.cancelled' }));
    await assert.rejects(read('big', { signal }), { reason: 'time.cancelled' });
  });

  it('never mixes versions of a file that is rewritten meanwhile', async () => {
    const name = path.join(ws, 'changing');
    fs.writeFileSync(name, 'a'.repeat(1000));
    const script = `
      const fs = require('node:fs');
      console.log('writing');
      const parent = process.ppid;
      const turn = () => {
        for (let i = 0; i < 50; i++) {
          fs.writeFileSync(${JSON.stringify(name)}, (i % 2 ? 'a' : 'b').repeat(500 + i * 7));
        }
        if (process.ppid === parent) setImmediate(turn);
      };
      turn();`;
    const writer = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(writer.stdout, 'data');
      for (let i = 0; i < 3000; i++) {
        const { bytes } = await read('changing', { maxBytes: 4096 });
        const content = Buffer.from(bytes).toString();
        assert.match(content, /^(a*|b*)$/);
      }
    } finally {
      const ended = once(writer, 'exit');
      writer.kill('SIGKILL');
      await ended;
    }
  });

  it('leaves no descriptor open', async () => {
    if (process.platform !== 'linux') return;
    const open = () => fs.readdirSync('/proc/self/fd').length;
    await read('big');
    const count = open();
    for (const options of [{}, { maxBytes: 1 }, { range: { start: 3, end: 1 } }]) {
      for (const rel of ['small', 'big', 'empty']) await read(rel, options).catch(() => undefined);
    }
    assert.equal(open(), count);
  });
});
