// Owns: that files of this machine's user are replaced whole, and that nothing in their place is followed or waited for.
// Refuses: what they hold; each kind has its own tests.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findMachineFiles, type MachineFiles, namesOf, openMachineFiles } from './machine-file.ts';

const READ = { most: 100, own: true };

function inFolder(work: (files: MachineFiles, root: string) => void): void {
  const root = mkdtempSync(join(tmpdir(), 'haft-machine-'));
  try {
    const site = { env: { XDG_CONFIG_HOME: join(root, 'config') }, workspace: join(root, 'workspace') };
    work(openMachineFiles(site, 'things'), root);
  } finally {
    rmSync(root, { recursive: true });
  }
}

describe('openMachineFiles', () => {
  it('has no file before one is put there, and makes nothing by looking', () =>
    inFolder((files) => {
      assert.deepEqual([files.read('a', READ), files.names(), files.remove('a')], [undefined, [], false]);
      assert.ok(!existsSync(files.folder));
    }));

  for (const durable of [true, false]) {
    it(`replaces a file whole, for its owner alone, ${durable ? 'durably' : 'without a sync'}`, () =>
      inFolder((files) => {
        files.replace('a', 'a longer first text', { durable });
        writeFileSync(`${files.pathOf('a')}.${process.pid}.tmp`, 'left by another');
        files.replace('a', Buffer.from('second'), { durable });
        assert.deepEqual(files.read('a', READ), { text: 'second' });
        assert.deepEqual(files.names(), ['a']);
        const modes = [files.folder, files.pathOf('a')].map((path) => statSync(path).mode & 0o777);
        assert.deepEqual(modes, [0o700, 0o600]);
        assert.deepEqual([files.remove('a'), files.remove('a'), files.names()], [true, false, []]);
      }));
  }

  it('leaves the file and nothing else where it cannot be replaced', () =>
    inFolder((files) => {
      files.prepare();
      mkdirSync(join(files.pathOf('a'), 'inner'), { recursive: true });
      assert.throws(() => files.replace('a', 'text', { durable: true }));
      assert.deepEqual(readdirSync(files.folder), ['a']);
    }));

  const others: Readonly<Record<string, (path: string, root: string) => void>> = {
    'a link': (path, root) => {
      writeFileSync(join(root, 'target'), 'text');
      symlinkSync(join(root, 'target'), path);
    },
    'a pipe': (path) => void execFileSync('mkfifo', [path]),
    'a folder': (path) => mkdirSync(path),
    'a file that is too large': (path) => writeFileSync(path, 'x'.repeat(101)),
  };
  for (const [what, put] of Object.entries(others)) {
    it(`says damaged of ${what}`, () =>
      inFolder((files, root) => {
        files.prepare();
        put(files.pathOf('a'), root);
        assert.equal(files.read('a', READ), 'damaged');
        assert.equal(files.read('a', { ...READ, own: false }), 'damaged');
      }));
  }

  it("says damaged of a file that others can write, where it has to be its owner's", () =>
    inFolder((files) => {
      files.replace('a', 'text', { durable: false });
      chmodSync(files.pathOf('a'), 0o620);
      assert.equal(files.read('a', READ), 'damaged');
      assert.deepEqual(files.read('a', { ...READ, own: false }), { text: 'text' });
      assert.equal(readFileSync(files.pathOf('a'), 'utf8'), 'text');
    }));
});

describe('findMachineFiles', () => {
  it('finds none where the folder would lie in the workspace, or nobody says where', () => {
    const workspace = '/workspace';
    for (const env of [{}, { XDG_CONFIG_HOME: '/workspace/config' }]) {
      assert.equal(findMachineFiles({ env, workspace }, 'things'), undefined);
      assert.throws(() => openMachineFiles({ env, workspace }, 'things'), { reason: 'credentials.key' });
    }
    assert.deepEqual(namesOf(undefined), []);
  });
});
