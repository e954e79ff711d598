import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { certainPaths } from './confirm.ts';

const PATHS = ['top', 'a/x', 'a/b/c/x', 'a/b2/x', 'z/x'];

describe('certainPaths', () => {
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'haft-guard-')));
    for (const path of PATHS) {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), '');
    }
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** Once the clock of change times has moved on. */
  const now = async () => {
    const probe = join(root, 'a/b/c/x');
    for (const before = lstatSync(probe).ctimeMs; Date.now() < before + 100; ) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return Date.now();
  };
  const certain = (since: number) => PATHS.filter(certainPaths(root, PATHS, since));

  it('is certain of all where nothing changed, also where files did', async () => {
    const since = await now();
    writeFileSync(join(root, 'a/x'), 'new content');
    assert.deepEqual(certain(since), PATHS);
  });

  it('is not certain of what lies below a folder in which something came, went or was renamed', async () => {
    const since = await now();
    writeFileSync(join(root, 'a/b/new'), '');
    assert.deepEqual(certain(since), ['top', 'a/x', 'a/b2/x', 'z/x']);
  });

  it('is not certain of anything where the root changed', async () => {
    const since = await now();
    rmSync(join(root, 'top'));
    assert.deepEqual(certain(since), []);
  });

  it('is not certain of a folder that was a link meanwhile, though it is back and its times are set back', async () => {
    const since = await now();
    const { atime, mtime } = lstatSync(join(root, 'a'));
    renameSync(join(root, 'a/b'), join(root, 'a/aside'));
    symlinkSync('/etc', join(root, 'a/b'));
    rmSync(join(root, 'a/b'));
    renameSync(join(root, 'a/aside'), join(root, 'a/b'));
    utimesSync(join(root, 'a'), atime, mtime);
    assert.deepEqual(certain(since), ['top', 'z/x']);
  });

  it('is not certain of what lies behind a link, or nowhere', async () => {
    symlinkSync('a', join(root, 'link'));
    const since = await now();
    const isCertain = certainPaths(root, ['link/x', 'gone/x'], since);
    assert.deepEqual([isCertain('link/x'), isCertain('gone/x')], [false, false]);
  });
});
