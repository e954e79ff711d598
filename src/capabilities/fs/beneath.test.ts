import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { locate, openLocated } from './beneath.ts';
import { makeRoots, type Root, release } from './root.ts';

let base: string;
let ws: string;

before(() => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-beneath-')));
  ws = path.join(base, 'ws');
  fs.mkdirSync(path.join(ws, 'a/b'), { recursive: true });
  fs.mkdirSync(path.join(base, 'outside'));
  fs.mkdirSync(path.join(base, 'ws-beside'));
  fs.writeFileSync(path.join(base, 'outside/secret'), 'OUTSIDE');
  fs.writeFileSync(path.join(base, 'ws-beside/secret'), 'OUTSIDE');
  fs.writeFileSync(path.join(ws, 'a/b/f'), 'inside');
  fs.writeFileSync(path.join(ws, 'gone (deleted)'), 'inside');
  fs.symlinkSync('a/b/f', path.join(ws, 'link'));
  fs.symlinkSync(path.join(ws, 'a'), path.join(ws, 'absolute'));
  fs.symlinkSync('../outside/secret', path.join(ws, 'leaves'));
  fs.symlinkSync('../outside', path.join(ws, 'leaves-dir'));
  fs.symlinkSync('../outside/nothing', path.join(ws, 'leaves-nowhere'));
  fs.symlinkSync('../ws-beside/secret', path.join(ws, 'beside'));
  fs.symlinkSync('a/none', path.join(ws, 'dangling'));
  fs.symlinkSync('gone (deleted)', path.join(ws, 'to-gone'));
  fs.symlinkSync('round', path.join(ws, 'round'));
  execFileSync('mkfifo', [path.join(ws, 'fifo')]);
});

after(() => fs.rmSync(base, { recursive: true, force: true }));

const openBeneath = (root: Root, rel: string) => {
  const found = locate(root, rel, 'open');
  try {
    return { fd: openLocated(found, fs.constants.O_RDONLY, 'open'), rel: found.rel };
  } finally {
    release(found);
  }
};

const read = (root: Root, rel: string): { text: string; rel: string } => {
  const { fd, rel: real } = openBeneath(root, rel);
  try {
    return { text: fs.readFileSync(fd, 'utf8'), rel: real };
  } finally {
    fs.closeSync(fd);
  }
};

const reasonOf = (run: () => unknown): string => {
  try {
    run();
  } catch (thrown) {
    return (thrown as { reason?: string }).reason ?? String(thrown);
  }
  return 'none';
};

for (const exact of process.platform === 'linux' ? [true, false] : [false]) {
  describe(`locate and openLocated ${exact ? 'by descriptor' : 'by name'}`, () => {
    const root = () => makeRoots(ws, [], exact);

    it('opens a file and says where it is', () => {
      assert.deepEqual(read(root(), 'a/b/f'), { text: 'inside', rel: 'a/b/f' });
    });

    it('follows links that stay inside, and answers the place they lead to', () => {
      assert.deepEqual(read(root(), 'link'), { text: 'inside', rel: 'a/b/f' });
      assert.deepEqual(read(root(), 'absolute/b/f'), { text: 'inside', rel: 'a/b/f' });
    });

    it('opens a file whose name looks like a removed one', () => {
      assert.equal(read(root(), 'gone (deleted)').text, 'inside');
      assert.equal(read(root(), 'to-gone').rel, 'gone (deleted)');
    });

    it('refuses links that leave, whether or not something is there', () => {
      for (const rel of [
        'leaves',
        'leaves-dir',
        'leaves-dir/secret',
        'leaves-nowhere',
        'beside',
        'leaves-dir/none',
      ]) {
        assert.equal(
          reasonOf(() => read(root(), rel)),
          'path.outside_workspace',
          rel,
        );
      }
    });

    it('never shows a path outside in a message', () => {
      try {
        read(root(), 'leaves-dir/secret');
        assert.fail('opened');
      } catch (thrown) {
        assert.equal(
          (thrown as Error).message,
          'Cannot open "leaves-dir/secret": a link on the way leads outside of the workspace',
        );
      }
    });

    it('refuses what is not a regular file, without waiting', () => {
      assert.equal(
        reasonOf(() => read(root(), 'fifo')),
        'path.not_regular',
      );
      assert.equal(
        reasonOf(() => read(root(), 'a')),
        'path.is_directory',
      );
    });

    it('says why nothing can be opened', () => {
      assert.equal(
        reasonOf(() => read(root(), 'none')),
        'path.not_found',
      );
      assert.equal(
        reasonOf(() => read(root(), 'dangling')),
        'path.not_found',
      );
      assert.equal(
        reasonOf(() => read(root(), 'a/b/f/g')),
        'path.not_directory',
      );
      assert.equal(
        reasonOf(() => read(root(), 'round')),
        'path.invalid',
      );
      assert.equal(
        reasonOf(() => read(root(), 'x'.repeat(300))),
        'path.invalid',
      );
      assert.equal(
        reasonOf(() => read(root(), 'a\0b')),
        'path.invalid',
      );
    });

    it('stays on a link in the last component when asked', () => {
      const found = locate(root(), 'leaves', 'stat', 'keep');
      release(found);
      assert.equal(found.stat.isSymbolicLink(), true);
      assert.equal(found.rel, 'leaves');
      assert.equal(
        reasonOf(() => locate(root(), 'leaves-dir/secret', 'stat', 'keep')),
        'path.outside_workspace',
      );
    });

    it('finds the root itself', () => {
      const found = locate(root(), '.', 'stat');
      release(found);
      assert.equal(found.rel, '.');
      assert.equal(found.stat.isDirectory(), true);
    });

    it('leaves no descriptor open', () => {
      if (process.platform !== 'linux') return;
      const open = () => fs.readdirSync('/proc/self/fd').length;
      const count = open();
      for (const rel of ['a/b/f', 'leaves', 'fifo', 'none', 'a', 'link']) reasonOf(() => read(root(), rel));
      assert.equal(open(), count);
    });
  });
}

if (process.platform === 'linux') {
  describe('locate', () => {
    it('does not take part in what waits on a FIFO', async () => {
      const writer = spawn('sh', ['-c', `echo waiting; exec >"${path.join(ws, 'fifo')}"; echo opened`]);
      await once(writer.stdout, 'data');
      assert.equal(
        reasonOf(() => openBeneath(makeRoots(ws), 'fifo')),
        'path.not_regular',
      );
      assert.equal(writer.exitCode, null);
      const ended = once(writer, 'exit');
      writer.kill('SIGKILL');
      await ended;
    });

    it('opens what lies on another mount beneath the root', () => {
      assert.equal(read(makeRoots('/'), 'proc/self/comm').text, fs.readFileSync('/proc/self/comm', 'utf8'));
    });

    it('refuses a place in another mount namespace that calls itself by a path inside', async (t) => {
      // There the kernel tells the other namespace's own path, which is equal to ours.
      const hidden = path.join(ws, 'hidden');
      fs.mkdirSync(hidden);
      const script = `mount --bind "${path.join(base, 'outside')}" "${hidden}" && echo ready && exec sleep 60`;
      const other = spawn('unshare', ['-m', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
      t.after(() => other.kill('SIGKILL'));
      const ready = await Promise.race([
        once(other.stdout, 'data').then(() => true),
        once(other, 'exit').then(() => false),
      ]);
      if (!ready) return t.diagnostic('no mount namespaces here');
      fs.symlinkSync(`/proc/${other.pid}/root${hidden}`, path.join(ws, 'magic'));
      const fd = fs.openSync(path.join(ws, 'magic/secret'), 'r');
      const told = fs.readlinkSync(`/proc/self/fd/${fd}`);
      fs.closeSync(fd);
      assert.equal(told, path.join(hidden, 'secret'), 'the premise: the path alone proves nothing');
      assert.equal(
        reasonOf(() => read(makeRoots(ws), 'magic/secret')),
        'path.outside_workspace',
      );
    });
  });
}
