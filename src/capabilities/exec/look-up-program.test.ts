import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { installHint, lookUpProgram } from './look-up-program.ts';

describe('lookUpProgram', () => {
  const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-programs-')));
  after(() => rmSync(root, { recursive: true }));
  const workspace = join(root, 'workspace');
  const bin = join(root, 'bin');
  for (const folder of [workspace, bin]) mkdirSync(folder);
  const program = (path: string, line: string) => {
    writeFileSync(path, `#!/bin/sh\n${line}\n`);
    chmodSync(path, 0o755);
  };
  const look = (name: string, path = bin) => lookUpProgram(name, ['--version'], { workspace, path });

  it('reads the version from what the program prints, on either stream', async () => {
    program(join(bin, 'loud'), 'echo "Docker version 20.10.24+dfsg1, build 297e128"');
    program(join(bin, 'quiet'), 'echo "slurm 22.05.8" >&2');
    assert.deepEqual(await look('loud'), { path: join(bin, 'loud'), version: '20.10.24+dfsg1' });
    assert.equal((await look('quiet'))?.version, '22.05.8');
  });

  it('finds one that fails or says nothing, without a version', async () => {
    program(join(bin, 'broken'), 'echo 1.2.3; exit 1');
    program(join(bin, 'silent'), 'cat');
    for (const name of ['broken', 'silent'])
      assert.deepEqual(await look(name), { path: join(bin, name), version: undefined });
  });

  it('never starts what lies in the workspace, by whatever name it is reached', async () => {
    const mark = join(root, 'started');
    program(join(workspace, 'planted'), `: >'${mark}'; echo 1.0.0`);
    symlinkSync(join(workspace, 'planted'), join(bin, 'planted'));
    symlinkSync(workspace, join(root, 'alias'));
    assert.equal(await look('planted', `${workspace}:${bin}:${join(root, 'alias')}:.:`), undefined);
    assert.throws(() => realpathSync(mark));
  });

  it('does not find what is not there or cannot be executed', async () => {
    writeFileSync(join(bin, 'text'), 'x', { mode: 0o644 });
    mkdirSync(join(bin, 'folder'));
    for (const name of ['text', 'folder', 'nothing']) assert.equal(await look(name), undefined);
  });
});

describe('installHint', () => {
  it('names the one line of this distribution, or all where it is not known', () => {
    const hint = (release: string) => installHint('bubblewrap', release);
    assert.equal(hint('NAME="Debian GNU/Linux"\nID=debian\n'), 'Install it: apt-get install bubblewrap');
    assert.equal(hint('ID=linuxmint\nID_LIKE="ubuntu debian"\n'), 'Install it: apt-get install bubblewrap');
    assert.equal(hint('ID="rocky"\nID_LIKE="rhel centos fedora"\n'), 'Install it: dnf install bubblewrap');
    assert.equal(hint('ID=alpine\n'), 'Install it: apk add bubblewrap');
    assert.equal(
      hint('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n'),
      'Install it: zypper install bubblewrap',
    );
    for (const unknown of ['', 'ID=plan9\n'])
      assert.match(hint(unknown), /apt-get .*dnf .*apk .*pacman .*zypper /);
  });
});
