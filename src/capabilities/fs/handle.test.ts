import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ObjectStore } from '../../contract/object-store.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createFsCapability, createFsHandle } from './handle.ts';
import { createTestScope, type TestScopeOptions } from './scope-for-tests.ts';

let base: string;
let ws: string;
let extra: string;
let objects: ObjectStore;

before(() => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-handle-')));
  ws = path.join(base, 'ws');
  extra = path.join(base, 'extra');
  objects = openObjectStore({ folder: path.join(base, 'objects'), process: 'test' });
  fs.mkdirSync(path.join(ws, 'd'), { recursive: true });
  fs.mkdirSync(path.join(base, 'outside'));
  fs.mkdirSync(extra);
  fs.writeFileSync(path.join(ws, 'd/f'), 'inside', { mode: 0o640 });
  fs.writeFileSync(path.join(ws, '.haft-tmp-1-2-3-4'), 'staged');
  fs.writeFileSync(path.join(extra, 'e'), 'extra');
  fs.writeFileSync(path.join(base, 'outside/o'), 'OUTSIDE');
  fs.symlinkSync('d', path.join(ws, 'link'));
  fs.symlinkSync('.haft-tmp-1-2-3-4', path.join(ws, 'staged'));
  fs.symlinkSync(path.join(extra, 'e'), path.join(ws, 'to-extra'));
  fs.symlinkSync(path.join(base, 'outside/o'), path.join(ws, 'out'));
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

function open(options?: TestScopeOptions) {
  const scope = createTestScope(ws, objects, options);
  return { scope, handle: createFsHandle(scope) };
}

describe('read', () => {
  it('answers content, size, mode and the real place, and admits both names', async () => {
    const { handle, scope } = open();
    const file = await handle.read('./link//f');
    assert.deepEqual(
      { ...file, bytes: Buffer.from(file.bytes).toString() },
      { bytes: 'inside', size: 6, mode: 0o640, path: 'd/f' },
    );
    assert.deepEqual(scope.admitted, [
      { kind: 'fs.read', path: 'link/f' },
      { kind: 'fs.read', path: 'd/f' },
    ]);
  });

  it('asks once where no link is on the way', async () => {
    const { handle, scope } = open();
    await handle.read(path.join(ws, 'd/f'));
    assert.deepEqual(scope.admitted, [{ kind: 'fs.read', path: 'd/f' }]);
  });

  it('refuses what policy denies before it looks at the disk', async () => {
    const { handle } = open({ denies: () => true });
    await assert.rejects(async () => handle.read('none'), { reason: 'policy.denied' });
    const behind = open({ denies: (effect) => 'path' in effect && effect.path === 'd/f' });
    await assert.rejects(async () => behind.handle.read('link/f'), { reason: 'policy.denied' });
  });

  it('refuses paths that lead out, by name or by link', async () => {
    const { handle } = open();
    for (const name of ['../outside/o', '/etc/passwd', `${ws}/../outside/o`, 'out', 'd/../../outside/o']) {
      await assert.rejects(async () => handle.read(name), { reason: 'path.outside_workspace' }, name);
    }
    for (const name of ['', 'a\0b', 'x'.repeat(5000)]) {
      await assert.rejects(async () => handle.read(name), { reason: 'path.invalid' });
    }
  });

  it('refuses what is on its way into place, also through a link', async () => {
    const { handle } = open();
    for (const name of ['.haft-tmp-1-2-3-4', 'staged']) {
      await assert.rejects(async () => handle.read(name), { reason: 'path.protected' });
    }
  });

  it('reaches extra roots by absolute path or by link, named absolutely', async () => {
    const { handle, scope } = open({ extraRoots: [extra] });
    assert.equal((await handle.read(path.join(extra, 'e'))).path, path.join(extra, 'e'));
    assert.equal((await handle.read('to-extra')).path, path.join(extra, 'e'));
    assert.deepEqual(scope.admitted.at(-1), { kind: 'fs.read', path: path.join(extra, 'e') });
    await assert.rejects(async () => open().handle.read('to-extra'), { reason: 'path.outside_workspace' });
  });
});

describe('stat', () => {
  it('tells what is there without following the last link', async () => {
    const { handle } = open();
    const file = await handle.stat('d/f');
    assert.deepEqual([file?.type, file?.size, file?.mode], ['file', 6, 0o640]);
    assert.equal(file?.mtimeMs, fs.statSync(path.join(ws, 'd/f')).mtimeMs);
    assert.equal((await handle.stat('d'))?.type, 'dir');
    assert.equal((await handle.stat('out'))?.type, 'link');
    assert.equal((await handle.stat('link/f'))?.type, 'file');
    assert.equal((await handle.stat('.'))?.type, 'dir');
  });

  it('answers undefined where nothing is, and refuses what lies outside', async () => {
    const { handle } = open();
    assert.equal(await handle.stat('none'), undefined);
    assert.equal(await handle.stat('d/f/g'), undefined);
    assert.throws(() => handle.stat('out/x'), { reason: 'path.outside_workspace' });
    assert.throws(() => handle.stat('../x'), { reason: 'path.outside_workspace' });
  });
});

describe('createFsCapability', () => {
  it('serves calls of several workspaces side by side', async () => {
    const capability = createFsCapability();
    const [one, other] = [ws, extra].map((root) => capability(createTestScope(root, objects)));
    assert.equal(Buffer.from((await one!.read('d/f')).bytes).toString(), 'inside');
    assert.equal(Buffer.from((await other!.read('e')).bytes).toString(), 'extra');
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        capability(createTestScope(ws, objects)).mutate([
          { op: 'write', path: `many/${i}`, bytes: Buffer.from(String(i)), createDirs: true },
        ]),
      ),
    );
    const { files } = await one!.list({
      glob: 'many/*',
      maxResults: 99,
      includeHidden: false,
      includeIgnored: false,
    });
    assert.equal(files.length, 20);
  });
});
