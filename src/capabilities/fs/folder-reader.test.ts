import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createFolderReader, type PinnedFolder } from './folder-reader.ts';
import { O_PATH } from './root.ts';

let dir: string;
let folder: PinnedFolder;

before(() => {
  dir = mkdtempSync(join(tmpdir(), 'haft-folder-reader-'));
  const fd = openSync(dir, O_PATH);
  folder = { path: `/proc/self/fd/${fd}`, fd };
});
after(() => {
  closeSync(folder.fd);
  rmSync(dir, { recursive: true, force: true });
});

/** Until the folder is old enough to be remembered: then two answers are the very same list. */
async function remembered(read: ReturnType<typeof createFolderReader>) {
  for (;;) {
    const first = read(folder);
    if (first === read(folder)) return first!;
    await setTimeout(5);
  }
}

const names = (entries: readonly { name: string }[] | undefined) => entries!.map(({ name }) => name).sort();

describe('a folder reader', () => {
  const changes: readonly [string, () => void, readonly string[]][] = [
    ['a new file', () => writeFileSync(join(dir, 'a'), ''), ['a']],
    ['a new folder', () => mkdirSync(join(dir, 'b')), ['a', 'b']],
    ['a new name', () => renameSync(join(dir, 'a'), join(dir, 'c')), ['b', 'c']],
    [
      'a new name whose folder was given an old time',
      () => backdated(() => writeFileSync(join(dir, 'd'), '')),
      ['b', 'c', 'd'],
    ],
    ['a removed file', () => rmSync(join(dir, 'c')), ['b', 'd']],
  ];
  for (const [what, change, expected] of changes) {
    it(`notices ${what} although it remembers`, async () => {
      const read = createFolderReader();
      await remembered(read);
      change();
      assert.deepEqual(names(read(folder)), expected);
    });
  }

  it('reads anew while a folder is young', () => {
    const read = createFolderReader();
    for (let i = 0; i < 50; i++) {
      writeFileSync(join(dir, `young-${i}`), '');
      assert.ok(names(read(folder)).includes(`young-${i}`));
    }
  });

  it('reads what is known by name only, every time', () => {
    const read = createFolderReader();
    assert.notEqual(read({ path: dir, fd: -1 }), read({ path: dir, fd: -1 }));
  });
});

function backdated(change: () => void): void {
  change();
  utimesSync(dir, 1, 1);
}
