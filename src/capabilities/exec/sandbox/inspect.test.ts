// Owns: that what is mounted is what was checked, even while another program renames it.
// Refuses: luck: many programs are started while the names change as fast as a shell can change them.
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { entryId, idOfChecked } from './inspect.ts';
import { identities, type ShellResult, withSandbox } from './probes.ts';

for (const identity of identities()) {
  describe(`a sandbox that is raced (${identity})`, () => {
    it('follows a workspace that is replaced by another of the same name', async () => {
      await withSandbox({ identity, files: { 'a/old': '' } }, async ({ sh, workspace }) => {
        assert.equal((await sh('ls a')).out, 'old\n');
        const { uid, gid } = statSync(workspace);
        rmSync(workspace, { recursive: true });
        mkdirSync(workspace);
        chownSync(workspace, uid, gid);
        assert.deepEqual([(await sh('ls; echo new > f')).out, existsSync(join(workspace, 'f'))], ['', true]);
      });
    });

    it('never lets a program begin with a path that leads elsewhere', async () => {
      const outside = mkdtempSync(join(tmpdir(), 'haft-outside-'));
      writeFileSync(join(outside, 'secret'), 'secret-value');
      chmodSync(outside, 0o777);
      try {
        await withSandbox({ identity, files: { 'out/': '' } }, async ({ sh, sandbox }) => {
          const swapper = await sandbox.start({
            argv: [
              'perl',
              '-e',
              `symlink "${outside}", "l"; while (1) { rename "out", "o"; rename "l", "out"; select undef, undef, undef, 0.0005; rename "out", "l"; rename "o", "out"; select undef, undef, undef, 0.0005 }`,
            ],
            env: sandbox.baseEnv,
          });
          swapper.stdout.resume();
          const results: ShellResult[] = [];
          const contested = () =>
            results.filter(({ refused }) => refused?.reason !== 'path.outside_workspace').length;
          while (contested() < 100 && results.length < 2000) {
            results.push(await sh('cat out/secret; echo x > out/written; true', { writable: ['out'] }));
          }
          await swapper.stop(0);
          assert.equal(existsSync(join(outside, 'written')), false);
          for (const { out, refused, code } of results) {
            assert.equal(out, '');
            assert.ok(
              refused ? /^(path\.|shell\.failed)/.test(refused.reason) : code === 0,
              refused?.message,
            );
          }
        });
      } finally {
        rmSync(outside, { recursive: true });
      }
    });
  });
}

describe('idOfChecked', () => {
  it('knows what is at a path, and takes nothing for it that a link leads to', () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'haft-id-')));
    try {
      const at = (name: string) => join(base, name);
      mkdirSync(at('folder/below'), { recursive: true });
      writeFileSync(at('folder/file'), '');
      symlinkSync('folder', at('link'));
      for (const name of ['folder', 'folder/below', 'folder/file'])
        assert.equal(idOfChecked(at(name)), entryId(at(name)));
      for (const name of ['link', 'link/below', 'link/file', 'missing', 'folder/file/below']) {
        assert.notEqual(idOfChecked(at(name)), undefined, name);
        assert.notEqual(idOfChecked(at(name)), entryId(at(name)), name);
      }
    } finally {
      rmSync(base, { recursive: true });
    }
  });
});
