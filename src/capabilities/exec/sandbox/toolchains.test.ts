// Owns: that granted programs outside of /usr run inside, with what they need and not more.
// Refuses: to depend on what this machine has installed; toolchains are made for the test.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { identities, withSandbox } from './sandbox-fixture.ts';
import { detectToolchains } from './toolchains.ts';

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
