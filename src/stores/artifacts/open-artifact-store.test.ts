import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { digest } from '../../base/digest.ts';
import { encodeTree } from '../../base/tree-manifest.ts';
import type { ObjectId } from '../../contract/object-store.ts';
import { inArtifacts } from './environment-for-tests.ts';

describe('openArtifactStore', () => {
  it('names a file as sha256sum does, whichever way it comes, and keeps it once', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      for (const size of [0, 700, 3_000_000]) {
        const bytes = Buffer.alloc(size, 7);
        const path = join(scratch, `file-${size}`);
        await writeFile(path, bytes);
        const sum = spawnSync('sha256sum', [path], { encoding: 'utf8' }).stdout.split(' ')[0];
        const imported = [
          await artifacts.importBytes(bytes),
          await artifacts.importStream(chunksOf(bytes)),
          await artifacts.importPath(path),
        ];
        for (const { id, kind, size: told } of imported) {
          assert.deepEqual([id, kind, told], [`sha256:${sum}`, 'file', size]);
        }
      }
      assert.equal((await artifacts.list({ limit: 10 })).length, 3);
    }));

  it('names a tree by what is in it, whatever its times, owners and order', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      await makeTree(join(scratch, 'one'));
      await makeTree(join(scratch, 'two'));
      await utimes(join(scratch, 'two', 'a.txt'), 1, 1);
      const [one, two] = [
        await artifacts.importPath(join(scratch, 'one')),
        await artifacts.importPath(join(scratch, 'two')),
      ];
      assert.equal(one.id, two.id);
      assert.deepEqual([one.kind, one.files, one.size], ['tree', 3, 1 + 2 + 40_000]);
      const entries = await artifacts.entries(one.id);
      assert.deepEqual(
        entries.map((entry) => [entry.path, entry.type, 'executable' in entry && entry.executable]),
        [
          ['a.txt', 'file', false],
          ['empty', 'dir', false],
          ['sub', 'dir', false],
          ['sub/big', 'file', false],
          ['sub/run.sh', 'file', true],
        ],
      );
      const body = Buffer.from(encodeTree(entries)).toString();
      assert.equal(one.id, `sha256:${digest('tree/v1', body.slice(body.indexOf('{')))}`);
      await chmod(join(scratch, 'two', 'a.txt'), 0o755);
      assert.notEqual((await artifacts.importPath(join(scratch, 'two'))).id, one.id);
    }));

  it('reads files and files of trees, whole and in part, and streams them', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      await makeTree(join(scratch, 'tree'));
      const tree = await artifacts.importPath(join(scratch, 'tree'));
      const part = await artifacts.read(tree.id, { path: 'sub/big', start: 39_998, end: 50_000 });
      assert.deepEqual([part.bytes.length, part.size], [2, 40_000]);
      const bytes = Buffer.alloc(5_000_000, 3);
      const { id } = await artifacts.importBytes(bytes);
      assert.equal((await artifacts.read(id, { start: 5_000_000 })).bytes.length, 0);
      for (const range of [{ start: 5_000_001 }, { start: 5_000_001, end: 6_000_000 }, { start: 5, end: 2 }])
        await assert.rejects(artifacts.read(id, range), { reason: 'input.range' });
      const pieces: Uint8Array[] = [];
      for await (const piece of artifacts.stream(id)) pieces.push(piece);
      assert.ok(pieces.length > 1);
      assert.equal(Buffer.compare(Buffer.concat(pieces), bytes), 0);
      for (const [path, reason] of [
        [undefined, 'path.is_directory'],
        ['sub', 'path.is_directory'],
        ['none', 'path.not_found'],
        ['../a.txt', 'path.not_found'],
      ] as const) {
        await assert.rejects(artifacts.read(tree.id, path === undefined ? {} : { path }), { reason });
      }
      await assert.rejects(artifacts.read(id, { path: 'x' }), { reason: 'path.not_found' });
      await assert.rejects(artifacts.entries(id), { reason: 'input.range' });
    }));

  it('answers for nothing that is only an object', () =>
    inArtifacts(async ({ artifacts, objects, scratch }) => {
      const id = await objects.put(Buffer.from('a pre-image'));
      assert.equal(await artifacts.get(id), undefined);
      const missing = { reason: 'artifact.unknown', code: 'E_VALIDATION_FAIL' };
      await assert.rejects(artifacts.read(id), missing);
      await assert.rejects(artifacts.verify(id), missing);
      await assert.rejects(artifacts.hold([id]), missing);
      await assert.rejects(artifacts.materialise(id, join(scratch, 'x')), missing);
      await assert.rejects(artifacts.read('nonsense' as ObjectId), missing);
    }));

  it('refuses links, devices and what is not there, and registers nothing of such a tree', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      await makeTree(join(scratch, 'tree'));
      await symlink('a.txt', join(scratch, 'tree', 'link'));
      const refused = { reason: 'path.not_regular' };
      await assert.rejects(artifacts.importPath(join(scratch, 'tree')), refused);
      await assert.rejects(artifacts.importPath(join(scratch, 'tree', 'link')), refused);
      spawnSync('mkfifo', [join(scratch, 'pipe')]);
      await assert.rejects(artifacts.importPath(join(scratch, 'pipe')), refused);
      await assert.rejects(artifacts.importPath('/dev/null'), refused);
      await assert.rejects(artifacts.importPath(join(scratch, 'none')), { reason: 'path.not_found' });
      await assert.rejects(artifacts.importPath('relative'), { reason: 'path.invalid' });
      assert.deepEqual(await artifacts.list({ limit: 10 }), []);
    }));

  it('refuses a file that would have the name of a tree', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      const manifest = encodeTree([{ type: 'dir', path: 'a' }]);
      await writeFile(join(scratch, 'manifest'), manifest);
      const refused = { reason: 'input.encoding' };
      await assert.rejects(artifacts.importBytes(manifest), refused);
      await assert.rejects(artifacts.importStream(chunksOf(manifest, 3)), refused);
      await assert.rejects(artifacts.importPath(join(scratch, 'manifest')), refused);
    }));

  it('says what is missing or damaged, by its path in a tree', () =>
    inArtifacts(async ({ artifacts, scratch, damage, remove }) => {
      await makeTree(join(scratch, 'tree'));
      const { id } = await artifacts.importPath(join(scratch, 'tree'));
      assert.deepEqual(await artifacts.verify(id), { state: 'ok' });
      const big = (await artifacts.entries(id)).find(({ path }) => path === 'sub/big')!;
      const object: ObjectId = `sha256:${'sha256' in big ? big.sha256 : ''}`;
      await damage(object);
      assert.deepEqual(await artifacts.verify(id), { state: 'corrupt', path: 'sub/big' });
      await assert.rejects(artifacts.read(id, { path: 'sub/big' }), { reason: 'object.corrupt' });
      await assert.rejects(artifacts.materialise(id, join(scratch, 'out')), { reason: 'object.corrupt' });
      await remove(object);
      assert.deepEqual(await artifacts.verify(id), { state: 'missing', path: 'sub/big' });
      await assert.rejects(artifacts.hold([id]), { reason: 'object.missing' });
      await artifacts.importPath(join(scratch, 'tree'));
      assert.deepEqual(await artifacts.verify(id), { state: 'ok' }, 'importing again mends it');
    }));

  it('materialises files and trees read-only, all of one age, and never over something', () =>
    inArtifacts(async ({ artifacts, scratch }) => {
      await makeTree(join(scratch, 'tree'));
      const tree = await artifacts.importPath(join(scratch, 'tree'));
      const out = join(scratch, 'out');
      await artifacts.materialise(tree.id, out);
      assert.equal((await artifacts.importPath(out)).id, tree.id);
      for (const [path, mode] of [
        ['a.txt', 0o444],
        ['sub/run.sh', 0o555],
        ['sub', 0o755],
      ] as const) {
        const found = await stat(join(out, path));
        assert.deepEqual([found.mode & 0o777, found.mtime.toISOString()], [mode, '1980-01-01T00:00:00.000Z']);
      }
      await assert.rejects(artifacts.materialise(tree.id, out), { reason: 'path.exists' });
      const file = await artifacts.importBytes(Buffer.from('x'));
      await artifacts.materialise(file.id, join(scratch, 'x'));
      assert.equal(await readFile(join(scratch, 'x'), 'utf8'), 'x');
      await assert.rejects(artifacts.materialise(file.id, join(scratch, 'x')), { reason: 'path.exists' });
      assert.deepEqual((await readdir(scratch)).sort(), ['out', 'tree', 'x']);
    }));
});

async function makeTree(folder: string): Promise<void> {
  await mkdir(join(folder, 'sub'), { recursive: true });
  await mkdir(join(folder, 'empty'));
  await writeFile(join(folder, 'a.txt'), 'a');
  await writeFile(join(folder, 'sub', 'run.sh'), '#!');
  await chmod(join(folder, 'sub', 'run.sh'), 0o755);
  await writeFile(join(folder, 'sub', 'big'), Buffer.alloc(40_000, 1));
}

async function* chunksOf(bytes: Uint8Array, size = 70_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
