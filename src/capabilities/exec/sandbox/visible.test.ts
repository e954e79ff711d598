// Owns: programs that see only a part of the workspace, as every user that the sandbox can run as.
// Refuses: paths that are hidden within a workspace that is there; `escape.test.ts` has those.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { WORK_FOLDER } from '../../../contract/plan.ts';
import { identities, withSandbox } from './probes.ts';

const FILES = {
  'data/in.txt': 'in',
  'data/deep/more.txt': 'more',
  'out/': '',
  'src/secret.txt': 'secret',
  'haft.yaml': 'version: 1\n',
  '.git/config': '',
  'nested/.git/config': 'c',
  'nested/file.txt': 'n',
};

for (const identity of identities()) {
  describe(`visible (${identity})`, () => {
    it('shows what is named, and an empty folder around it', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh }) => {
        const seen = await sh('find . | sort; cat data/deep/more.txt', { visible: ['data'], writable: [] });
        assert.equal(seen.err, '');
        assert.deepEqual(
          seen.out.split('\n').filter((line) => !line.startsWith('./data')),
          ['.', 'more'],
        );
      });
    });

    it('shows nothing at all where nothing is named, and nothing can be left there', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh }) => {
        const seen = await sh('find . | sort; touch x; mkdir y; ls -a | wc -l', {
          visible: [],
          writable: [],
        });
        assert.equal(seen.out, '.\n2\n');
        assert.match(seen.err, /Read-only file system/);
      });
    });

    it('lets what is writable be written, also below what is only visible, and nothing else', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        const spec = { visible: ['data'], writable: ['out', 'data/deep'] };
        const seen = await sh('echo 1 > out/a; echo 2 > data/deep/more.txt; echo 3 > data/in.txt', spec);
        assert.match(seen.err, /data\/in\.txt: Read-only/);
        assert.equal(readFileSync(join(workspace, 'out/a'), 'utf8'), '1\n');
        assert.equal(readFileSync(join(workspace, 'data/deep/more.txt'), 'utf8'), '2\n');
        assert.equal(readFileSync(join(workspace, 'data/in.txt'), 'utf8'), 'in');
      });
    });

    it('never gives back what is protected or hidden', async () => {
      await withSandbox({ identity, files: FILES, readOnly: ['nested/.git'] }, async ({ sh, workspace }) => {
        const spec = {
          visible: ['haft.yaml', 'data'],
          writable: ['nested', '.git', 'haft.yaml'],
          hidden: ['data/deep'],
        };
        const line =
          'for f in nested/.git/config .git/config haft.yaml nested/file.txt; do echo x > $f && echo $f; done; cat data/deep/more.txt; ls .haft';
        const seen = await sh(line, spec);
        assert.equal(seen.out, 'nested/file.txt\n');
        assert.equal(readFileSync(join(workspace, 'haft.yaml'), 'utf8'), 'version: 1\n');
        const state = await sh('ls -a .haft', { visible: ['data'], writable: ['.haft'] });
        assert.notEqual(state.code, 0);
      });
    });

    it('shows a bind below the work folder where it is told to, and can start there', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        const bound = (path: string, at: string, writable = false) => ({
          path: join(workspace, path),
          at,
          writable,
        });
        const binds = [bound('data', `${WORK_FOLDER}/in`), bound('out', `${WORK_FOLDER}/out`, true)];
        const spec = { visible: [], writable: [], cwd: WORK_FOLDER, binds };
        const seen = await sh('pwd; ls; cat in/in.txt; echo 1 > out/a; echo 2 > in/a; echo 3 > a', spec);
        assert.equal(seen.out, `${WORK_FOLDER}\nin\nout\nin`);
        assert.match(seen.err, /in\/a: Read-only.*a: Read-only/s);
        assert.equal(readFileSync(join(workspace, 'out/a'), 'utf8'), '1\n');
        for (const at of ['/usr/x', WORK_FOLDER, `${WORK_FOLDER}/../etc`, `${WORK_FOLDER.slice(1)}/in`])
          assert.equal(
            (await sh('true', { binds: [bound('data', at)] })).refused?.reason,
            'path.invalid',
            at,
          );
        assert.equal((await sh('true', { cwd: WORK_FOLDER })).refused?.reason, 'path.outside_workspace');
      });
    });

    it('refuses what is not there or leads away', async () => {
      await withSandbox({ identity, files: FILES }, async ({ sh, workspace }) => {
        symlinkSync('/etc', join(workspace, 'away'));
        writeFileSync(join(workspace, 'plain'), '');
        for (const [path, reason] of [
          ['absent', 'path.not_found'],
          ['away', 'path.outside_workspace'],
          ['../x', 'path.outside_workspace'],
        ] as const)
          assert.equal((await sh('true', { visible: [path] })).refused?.reason, reason, path);
      });
    });
  });
}
