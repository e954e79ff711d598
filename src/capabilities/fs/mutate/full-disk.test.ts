import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';

const HERE = import.meta.dirname;

/** Runs in a mount namespace of its own, with a small file system at `ws`. */
const SCRIPT = `
  import { execFileSync } from 'node:child_process';
  import fs from 'node:fs';
  import { createFsHandle } from '${HERE}/../handle.ts';
  import { createTestScope } from '${HERE}/../scope-for-tests.ts';
  import { openObjectStore } from '${HERE}/../../../stores/objects/open-object-store.ts';
  const [ws, kept] = process.argv.slice(1);
  const objects = openObjectStore({ folder: kept, process: 'test' });
  const attempt = (edits) =>
    createFsHandle(createTestScope(ws, objects)).mutate(edits).then(() => 'done', (thrown) => thrown.reason);
  const write = (path, size, more) => ({ op: 'write', path, bytes: Buffer.alloc(size, 'x'), createDirs: true, ...more });
  const results = [];
  const note = async (edits) => results.push([await attempt(edits), fs.readdirSync(ws, { recursive: true }).sort()]);
  await note([write('a', 100)]);
  await note([write('a', 1e6)]);
  await note([write('b', 100), write('d/c', 1e6)]);
  execFileSync('mount', ['-o', 'remount,ro', ws]);
  await note([write('a', 10)]);
  await note([{ op: 'delete', path: 'a', recursive: false, force: false }]);
  console.log(JSON.stringify({ results, size: fs.statSync(ws + '/a').size }));
`;

if (process.platform === 'linux') {
  describe('mutate', () => {
    it('says that a disk is full or read-only, and leaves everything as it was', (t) => {
      const base = fs.mkdtempSync(path.join(os.tmpdir(), 'haft-full-'));
      fs.mkdirSync(path.join(base, 'ws'));
      const setUp =
        'mount -t tmpfs -o size=128k tmpfs "$1" || exit 99; exec "$0" --input-type=module -e "$3" "$1" "$2"';
      const [ws, kept] = [path.join(base, 'ws'), path.join(base, 'kept')];
      const args = ['-m', 'sh', '-c', setUp, process.execPath, ws, kept, SCRIPT];
      const { stdout, status, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
      fs.rmSync(base, { recursive: true, force: true });
      if (status === 99 || status === null || /unshare/.test(stderr)) return t.diagnostic('no mounts here');
      assert.equal(status, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), {
        results: [
          ['done', ['a']],
          ['file.no_space', ['a']],
          ['file.no_space', ['a']],
          ['file.read_only', ['a']],
          ['file.read_only', ['a']],
        ],
        size: 100,
      });
      return undefined;
    });
  });
}
