import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readJson, writeOnce } from './write-once.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'haft-once-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('writeOnce', () => {
  it('lets one of many write, and leaves nothing else behind', async () => {
    const path = join(folder, 'end.json');
    const wrote = await Promise.all(Array.from({ length: 20 }, (_, n) => writeOnce(path, { n })));
    assert.equal(wrote.filter(Boolean).length, 1);
    assert.deepEqual(await readJson(path), { n: wrote.indexOf(true) });
    assert.equal(await writeOnce(path, { n: 99 }), false);
    assert.deepEqual(readdirSync(folder), ['end.json']);
  });
  it('passes on that there is no such folder', async () => {
    await assert.rejects(writeOnce(join(folder, 'no/end.json'), {}), { code: 'ENOENT' });
  });
});

describe('readJson', () => {
  it('answers nothing where nothing is', async () => {
    assert.equal(await readJson(join(folder, 'no.json')), undefined);
  });
});
