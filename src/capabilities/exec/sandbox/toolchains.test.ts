// Owns: that granted programs outside of /usr run inside, with what they need and not more.
// Refuses: to depend on what this machine has installed; toolchains are made for the test.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createSandbox } from './create-sandbox.ts';
import { identities, withSandbox } from './probes.ts';
import { behindShims, detectToolchains } from './toolchains.ts';

const home = realpathSync(mkdtempSync(join(tmpdir(), 'haft-home-')));
after(() => rmSync(home, { recursive: true }));

function script(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

script('.nvm/versions/node/v1/bin/tool-n', '#!/bin/sh\ncat "$(dirname "$0")/../lib/data"\n');
script('.nvm/versions/node/v1/lib/data', 'library\n');
script(
  '.cargo/bin/tool-c',
  '#!/bin/sh\necho "$RUSTUP_HOME"; cat "$RUSTUP_HOME/settings"; cat "$CARGO_HOME/credentials.toml"\n',
);
script('.cargo/credentials.toml', 'secret-value\n');
script('.rustup/settings', 'rust\n');
script('.local/bin/tool-l', '#!/bin/sh\necho local\n');
script('opt/interp/bin/interp', '#!/bin/sh\necho "interpreted $1"\n');
script('.local/bin/tool-i', `#!${join(home, 'opt/interp/bin/interp')}\n`);
script('opt/linked/bin/real', '#!/bin/sh\necho linked\n');
symlinkSync('../../opt/linked/bin/real', join(home, '.local/bin/tool-s'));
script('.ssh/id', 'secret-value\n');
const path = ['.nvm/versions/node/v1/bin', '.cargo/bin', '.local/bin']
  .map((dir) => join(home, dir))
  .join(':');
const programs = ['tool-n', 'tool-c', 'tool-l', 'tool-i', 'tool-s', 'sh', 'missing', './relative'];

describe('detectToolchains', () => {
  it('finds what each program needs, and neither homes nor credentials', () => {
    const found = detectToolchains({ programs, path: `${path}:/usr/bin:/bin:relative`, home });
    const expected = [
      '.cargo/bin',
      '.local/bin',
      '.nvm/versions/node/v1',
      '.rustup',
      'opt/interp',
      'opt/linked',
    ];
    assert.deepEqual(
      [...found.paths].sort(),
      expected.map((name) => join(home, name)),
    );
    assert.deepEqual(found.bins, path.split(':'));
    assert.deepEqual(found.env, { CARGO_HOME: join(home, '.cargo'), RUSTUP_HOME: join(home, '.rustup') });
  });

  it('finds nothing where everything is below /usr', () => {
    assert.deepEqual(detectToolchains({ programs: ['sh', 'env'], path: '/usr/bin:/bin' }), {
      paths: [],
      bins: [],
      env: {},
    });
  });
});

for (const identity of identities()) {
  describe(`toolchains (${identity})`, () => {
    it('run inside, read-only', async () => {
      await withSandbox({ identity, toolchains: programs, path }, async ({ sh }) => {
        const result = await sh(
          `tool-n; tool-c; tool-l; tool-i; tool-s; cat ${home}/.ssh/id; echo x > ${home}/.rustup/x; touch ${home}/.nvm/x`,
        );
        assert.equal(
          result.out,
          `library\n${home}/.rustup\nrust\nlocal\ninterpreted ${home}/.local/bin/tool-i\nlinked\n`,
          result.err,
        );
      });
    });
  });
}

const shimHome = realpathSync(mkdtempSync(join(tmpdir(), 'haft-shims-')));
after(() => rmSync(shimHome, { recursive: true }));

function put(path: string, text: string): string {
  const file = join(shimHome, path);
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

const shims = join(shimHome, '.pyenv/shims');
const pyenv = (...versions: readonly string[]) =>
  versions.map((version) => join(shimHome, '.pyenv/versions', version, 'bin'));
const of = (workspace: string, env: NodeJS.ProcessEnv = {}, bin = shims) =>
  behindShims([bin], { workspace: join(shimHome, workspace), env, home: shimHome });

describe('behindShims', () => {
  it('reads the version where its manager does', () => {
    assert.deepEqual(of('work/one'), pyenv('3.9.1'));
    assert.deepEqual(of('work/two'), pyenv('3.12.10'));
    assert.deepEqual(of('work/two/deeper'), pyenv('3.12.10'));
    assert.deepEqual(of('work/system'), pyenv('4.0.0'));
    assert.deepEqual(of('work/two', { PYENV_VERSION: '3.9.1:4.0.0' }), pyenv('3.9.1', '4.0.0'));
    assert.deepEqual(of('work/one', {}, join(shimHome, '.asdf/shims')), [
      join(shimHome, '.asdf/installs/python/3.1.0/bin'),
    ]);
  });

  it('leaves out what it cannot tell, and leaves alone what is no shim', () => {
    assert.deepEqual(of('work/one', { PYENV_VERSION: '9.9' }), []);
    assert.deepEqual(of('work/one', { PYENV_VERSION: '../../shims' }), []);
    assert.deepEqual(of('work/one', {}, '/opt/tool/bin'), ['/opt/tool/bin']);
  });

  it('lets a program that may start no other run where its name is a shim', async () => {
    const workspace = join(shimHome, 'work/two');
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
