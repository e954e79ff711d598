import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import { padding, readTar, TAR_END, type TarEntry, type TarFile, tarHeader } from './tar.ts';

type Content = Omit<TarFile, 'size'> & { readonly content: Buffer };

function archiveOf(files: readonly Content[]): Buffer {
  const sorted = [...files].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  const parts = sorted.flatMap(({ content, ...file }) => [
    tarHeader({ ...file, size: content.length }),
    content,
    padding(content.length),
  ]);
  return Buffer.concat([...parts, TAR_END()]);
}

async function read(archive: Buffer): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  const source = {
    size: archive.length,
    read: async (position: number, length: number) => archive.subarray(position, position + length),
  };
  for await (const entry of readTar(source)) entries.push(entry);
  return entries;
}

const name = fc.stringMatching(/^[a-zA-Z0-9 é_-]{1,60}$/u);
const files = fc.uniqueArray(
  fc.record({
    path: fc.array(name, { minLength: 1, maxLength: 6 }).map((names) => names.join('/')),
    content: fc.uint8Array({ maxLength: 1200 }).map((bytes) => Buffer.from(bytes)),
    executable: fc.boolean(),
  }),
  { selector: ({ path }) => path, maxLength: 6 },
);

describe('tar', () => {
  it('gives back what was put in, whatever the names, and is the same archive for the same files', async () => {
    await fc.assert(
      fc.asyncProperty(files, async (contents) => {
        const archive = archiveOf(contents);
        assert.deepEqual(archiveOf(contents.toReversed()), archive);
        const entries = await read(archive);
        assert.equal(entries.length, contents.length);
        for (const { path, offset, size, executable } of entries) {
          const given = contents.find((one) => one.path === path)!;
          assert.deepEqual(archive.subarray(offset, offset + size), given.content);
          assert.equal(executable, given.executable);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is read by tar itself, long and foreign names included', () => {
    const folder = mkdtempSync(join(tmpdir(), 'haft-tar-'));
    try {
      const long = `${'folder/'.repeat(30)}${'x'.repeat(90)}`;
      const given = [
        { path: 'a.txt', content: Buffer.from('one') },
        { path: 'bin/run', content: Buffer.from('#!'), executable: true },
        { path: 'größe/😀', content: Buffer.from('two') },
        { path: long, content: Buffer.from('three') },
        { path: `${'y'.repeat(120)}/z`, content: Buffer.alloc(513) },
      ];
      writeFileSync(join(folder, 'a.tar'), archiveOf(given));
      const { status, stderr } = spawnSync('tar', ['-xf', 'a.tar'], { cwd: folder, encoding: 'utf8' });
      assert.deepEqual([status, stderr], [0, '']);
      for (const { path, content } of given) assert.deepEqual(readFileSync(join(folder, path)), content);
      assert.equal(statSync(join(folder, 'bin/run')).mode & 0o777, 0o755);
      assert.equal(statSync(join(folder, 'a.txt')).mtimeMs, 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('says sizes that ustar has no room for', () => {
    const header = Buffer.from(tarHeader({ path: 'huge', size: 2 ** 40 }));
    assert.ok(header.toString('latin1').includes('size=1099511627776\n'));
  });

  it('is refused with a change of any byte outside of contents, but for a name that has no checksum: that is another name', async () => {
    const content = Buffer.from('content of a file');
    const archive = archiveOf([
      { path: 'a', content },
      { path: 'ü', content, executable: true },
    ]);
    const inside = (await read(archive)).map(({ offset, size }) => [offset, offset + size] as const);
    for (let at = 0; at < archive.length; at++) {
      if (inside.some(([start, end]) => at >= start && at < end)) continue;
      const changed = Buffer.from(archive);
      changed[at]! ^= 1;
      const names = await read(changed).then(
        (entries) => entries.map(({ path }) => path),
        ({ reason }) => reason,
      );
      if (Array.isArray(names)) assert.notDeepEqual(names, ['a', 'ü'], `byte ${at}`);
      else assert.equal(names, 'input.not_canonical');
    }
  });

  it('is refused when it is cut, longer, or out of order', async () => {
    const archive = archiveOf([{ path: 'a', content: Buffer.from('x') }]);
    const [a, b] = ['b', 'a'].map((path) => tarHeader({ path, size: 0 }));
    for (const changed of [
      Buffer.alloc(0),
      archive.subarray(0, 700),
      archive.subarray(0, -512),
      Buffer.concat([archive, Buffer.alloc(512)]),
      Buffer.concat([a!, b!, TAR_END()]),
      Buffer.concat([b!, b!, TAR_END()]),
    ])
      await assert.rejects(read(changed), { reason: 'input.not_canonical' });
  });
});
