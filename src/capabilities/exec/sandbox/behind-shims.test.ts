// Owns: that a program which may start no other is found behind the shims of version managers.
// Refuses: to depend on what this machine has installed; the version managers are made for the test.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { behindShims } from './behind-shims.ts';
import { createSandbox } from './create-sandbox.ts';

const home = realpathSync(mkdtempSync(join(tmpdir(), 'haft-shims-')));
after(() => rmSync(home, { recursive: true }));

function put(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

for (const version of ['3.9.1', '3.12.2', '3.12.10', '4.0.0'])
  put(`.pyenv/versions/${version}/bin/snake`, `#!/bin/sh\necho ${version}\n`);
put('.pyenv/shims/snake', '#!/bin/sh\n"$(echo echo)" from the shim\n');
put('.pyenv/version', '3.9.1\n');
put('.asdf/installs/python/3.1.0/bin/snake', '#!/bin/sh\n');
put('.asdf/shims/snake', '#!/bin/sh\n');
put('.tool-versions', 'python 3.1.0 # as ever\nnodejs 20.0.0\n');
put('work/one/README', '');
put('work/two/.python-version', '# latest of its kind\n3.12\n');
put('work/system/.python-version', 'system\n4.0.0\n');

const shims = join(home, '.pyenv/shims');
const pyenv = (...versions: readonly string[]) =>
  versions.map((version) => join(home, '.pyenv/versions', version, 'bin'));
const of = (workspace: string, env: NodeJS.ProcessEnv = {}, bin = shims) =>
  behindShims([bin], { workspace: join(home, workspace), env, home });

describe('behindShims', () => {
  it('reads the version where its manager does', () => {
    assert.deepEqual(of('work/one'), pyenv('3.9.1'));
    assert.deepEqual(of('work/two'), pyenv('3.12.10'));
    assert.deepEqual(of('work/two/deeper'), pyenv('3.12.10'));
    assert.deepEqual(of('work/system'), pyenv('4.0.0'));
    assert.deepEqual(of('work/two', { PYENV_VERSION: '3.9.1:4.0.0' }), pyenv('3.9.1', '4.0.0'));
    assert.deepEqual(of('work/one', {}, join(home, '.asdf/shims')), [
      join(home, '.asdf/installs/python/3.1.0/bin'),
    ]);
  });

  it('leaves out what it cannot tell, and leaves alone what is no shim', () => {
    assert.deepEqual(of('work/one', { PYENV_VERSION: '9.9' }), []);
    assert.deepEqual(of('work/one', { PYENV_VERSION: '../../shims' }), []);
    assert.deepEqual(of('work/one', {}, '/opt/tool/bin'), ['/opt/tool/bin']);
  });

  it('lets a program that may start no other run where its name is a shim', async () => {
    const workspace = join(home, 'work/two');
    const sandbox = createSandbox({ workspace, toolchains: ['snake'], path: `${shims}:/usr/bin` });
    try {
      const run = async (env: Readonly<Record<string, string>>) => {
        const { stdout } = await sandbox.run({ argv: ['snake'], env, spawns: false });
        return Buffer.from(stdout).toString();
      };
      assert.equal(await run(sandbox.loneEnv), '3.12.10\n');
      assert.notEqual(await run(sandbox.baseEnv), 'from the shim\n');
    } finally {
      await sandbox.close();
    }
  });
});
