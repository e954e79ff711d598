import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace, type Workspace } from '../../../test/e2e/support/workspace.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { scanTree } from './scan-tree.ts';

describe('scanTree', () => {
  let workspace: Workspace;
  let extra: Workspace;
  const scan = () => scanTree({ root: workspace.root, extraRoots: [extra.root] });
  /** Once nothing is so new that it could change unseen. */
  const settled = async () => {
    await eventually(
      async () => ![...(await scan()).values()].some((stamp) => stamp.startsWith('?')),
      'a settled tree',
    );
    return scan();
  };
  const changed = async (work: () => void) => {
    const earlier = await settled();
    work();
    const later = await scan();
    const names = new Set([...earlier.keys(), ...later.keys()]);
    return [...names].filter((name) => earlier.get(name) !== later.get(name)).sort();
  };
  before(() => {
    workspace = makeWorkspace({
      'a.txt': 'a',
      'd/b.txt': 'b',
      '.haft/x': '',
      '.git/HEAD': '',
      '.git/objects/x': '',
    });
    extra = makeWorkspace({ 'c.txt': 'c' });
    symlinkSync('/etc', workspace.path('link'));
  });
  after(() => {
    workspace.remove();
    extra.remove();
  });

  it('names everything but the state of Haft, what git keeps by digest, and what lies behind links', async () => {
    const names = [...(await scan()).keys()].sort();
    const expected = ['.git', '.git/HEAD', 'a.txt', 'd', 'd/b.txt', 'link', `${extra.root}/c.txt`];
    assert.deepEqual(names, expected.sort());
  });

  it('says the same of what did not change', async () => {
    assert.deepEqual(await changed(() => {}), []);
  });

  it('tells what was written, also with the same size and time', async () => {
    const work = () => {
      writeFileSync(workspace.path('a.txt'), 'z');
      utimesSync(workspace.path('a.txt'), 0, 0);
    };
    await settled();
    utimesSync(workspace.path('a.txt'), 0, 0);
    assert.deepEqual(await changed(work), ['a.txt']);
  });

  it('tells what came, went, or was given other permissions', async () => {
    assert.deepEqual(await changed(() => mkdirSync(workspace.path('e'))), ['e']);
    assert.deepEqual(await changed(() => chmodSync(workspace.path('d'), 0o700)), ['d']);
    assert.deepEqual(await changed(() => chmodSync(`${extra.root}/c.txt`, 0o600)), [`${extra.root}/c.txt`]);
    assert.deepEqual(await changed(() => renameSync(workspace.path('d'), workspace.path('f'))), [
      'd',
      'd/b.txt',
      'f',
      'f/b.txt',
    ]);
    assert.deepEqual(await changed(() => rmSync(workspace.path('f/b.txt'))), ['f/b.txt']);
  });

  it('calls a folder with a name that is no text never the same', async () => {
    writeFileSync(Buffer.concat([Buffer.from(`${workspace.root}/f/`), Buffer.from([0xff])]), '');
    await settled();
    assert.deepEqual(await changed(() => {}), ['f']);
  });
});
