import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadHaftYaml } from './load-haft-yaml.ts';

describe('checkEnvironment', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'haft-roots-')));
  const { HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME } = process.env;
  const set = (env: Readonly<Record<string, string | undefined>>) => {
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  before(() => {
    for (const name of ['ws', 'home/.config/haft/trust', 'home/.config/other', 'home/code', 'beside'])
      mkdirSync(join(folder, name), { recursive: true });
    symlinkSync(join(folder, 'home'), join(folder, 'link'));
  });
  after(() => {
    set({ HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME });
    rmSync(folder, { recursive: true });
  });

  const codes = async (root: string, env: Readonly<Record<string, string | undefined>>) => {
    set({ HOME: join(folder, 'home'), XDG_CONFIG_HOME: undefined, XDG_CACHE_HOME: undefined, ...env });
    writeFileSync(join(folder, 'ws/haft.yaml'), `version: 1\npaths: { extra_roots: ["${root}"] }\n`);
    const { diagnostics } = await loadHaftYaml({ workspace: join(folder, 'ws') });
    return diagnostics.map(({ code }) => code);
  };

  for (const root of [
    'home',
    'home/.config',
    'home/.config/haft',
    'home/.config/haft/trust',
    'link',
    'link/.config',
  ])
    it(`refuses ${root} as a root beside the workspace: Haft's own folder is in reach`, async () =>
      assert.deepEqual(await codes(`../${root}`, {}), ['root.holds_haft']));

  it('follows the variables that say where that is, also where nothing is there yet', async () => {
    for (const name of ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME']) {
      assert.deepEqual(
        await codes('../beside', { [name]: join(folder, 'beside') }),
        ['root.holds_haft'],
        name,
      );
      assert.deepEqual(await codes('../home/code', { [name]: join(folder, 'link/code/x') }), [
        'root.holds_haft',
      ]);
    }
  });

  it('takes what lies beside it, and anything where there is no home', async () => {
    assert.deepEqual(await codes('../home/code', {}), []);
    assert.deepEqual(await codes('../home/.config/other', {}), []);
    assert.deepEqual(await codes('../home', { HOME: undefined }), []);
  });
});
