import assert from 'node:assert/strict';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { OutputProblem } from './check-outputs.ts';
import { roomFor, unnamedBytes, watchOut } from './watch-out.ts';

let out: string;
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'haft-watch-'));
});
afterEach(() => rmSync(out, { recursive: true }));

describe('watchOut', () => {
  it('tells once that there is no more room, wherever the files are', async () => {
    const told: OutputProblem[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const watch = watchOut({
      out,
      outputBytes: 1000,
      onOver(problem) {
        told.push(problem);
        resolve();
      },
    });
    mkdirSync(join(out, 'a/b'), { recursive: true });
    for (const name of ['a/b/1', 'a/2']) {
      writeFileSync(join(out, name), '');
      truncateSync(join(out, name), roomFor(1000) - 1);
    }
    await promise;
    assert.equal((await watch.stop()).diskFull, false);
    assert.deepEqual(
      told.map(({ cause }) => cause),
      ['limit.output_bytes'],
    );
  });
  it('says nothing of what there is room for, although it may not be left', async () => {
    const watch = watchOut({ out, outputBytes: 1000, onOver: () => assert.fail('told') });
    writeFileSync(join(out, '1'), Buffer.alloc(50_000_000));
    assert.equal((await watch.stop()).diskFull, false);
  });
});

describe('unnamedBytes', () => {
  it('counts files that a process has open and nobody can name', () => {
    const before = unnamedBytes(out, process.pid);
    const fd = openSync(join(out, 'x'), 'w');
    writeFileSync(fd, Buffer.alloc(100_000, 1));
    assert.equal(unnamedBytes(out, process.pid), before);
    rmSync(join(out, 'x'));
    assert.ok(unnamedBytes(out, process.pid) >= before + 100_000);
    ftruncateSync(fd);
    closeSync(fd);
    assert.equal(unnamedBytes(out, process.pid), before);
    assert.equal(unnamedBytes(out, 2 ** 30), 0);
  });
});
