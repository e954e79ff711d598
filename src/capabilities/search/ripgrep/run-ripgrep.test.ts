import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { findRipgrep } from './run-ripgrep.ts';

describe('findRipgrep', () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'haft-rg-')));
  const workspace = join(home, 'workspace');
  after(() => rmSync(home, { recursive: true, force: true }));

  const program = (folder: string, mode = 0o755) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'rg'), '#!/bin/sh\n');
    chmodSync(join(folder, 'rg'), mode);
    return folder;
  };
  const inWorkspace = program(join(workspace, 'bin'));
  const beside = program(join(home, 'bin'));
  const notExecutable = program(join(home, 'plain'), 0o644);
  const folderOfThatName = join(home, 'odd');
  mkdirSync(join(folderOfThatName, 'rg'), { recursive: true });
  const linked = join(home, 'linked');
  mkdirSync(linked);
  symlinkSync(join(inWorkspace, 'rg'), join(linked, 'rg'));

  const onPath = (...folders: string[]) =>
    findRipgrep([workspace], { bundled: false, path: folders.join(':') });

  it('takes the one that came with Haft', async () => {
    assert.match((await findRipgrep([workspace])) ?? '', /ripgrep.*\/bin\/rg$/);
  });

  it('takes the first program of that name on the PATH', async () => {
    assert.equal(await onPath('/nowhere', notExecutable, folderOfThatName, beside), join(beside, 'rg'));
    assert.equal(await onPath('/nowhere', ''), undefined);
  });

  it('takes none that lies in the workspace, by its path or behind a link, and none of a relative folder', async () => {
    assert.equal(await onPath(inWorkspace, linked, beside), join(beside, 'rg'));
    assert.equal(await onPath(inWorkspace, linked, 'bin', '.', ''), undefined);
  });
});
