// Owns: that all of this folder's tests also pass for an ordinary user when they are run by root.
// Refuses: to run itself; an ordinary user's own run of the tests is what this stands for.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findPrograms } from './availability.ts';

const NOBODY = '65534';
const BECOME = ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--inh-caps=-all', '--'];

const isRoot = process.getuid?.() === 0;
const files = readdirSync(import.meta.dirname).filter(
  (name) => name.endsWith('.test.ts') && name !== 'ordinary-user.test.ts',
);

describe('the sandbox, when an ordinary user starts it,', () => {
  if (!isRoot)
    it('is what the tests beside this one have just shown', () => assert.ok(process.getuid, 'needs users'));
  for (const file of isRoot ? files : [])
    it(`keeps the promises of ${file}`, () => {
      const programs = findPrograms();
      assert.ok('setpriv' in programs && programs.setpriv);
      const { status, stdout, stderr } = spawnSync(
        programs.setpriv,
        [...BECOME, process.execPath, '--test-reporter=tap', join(import.meta.dirname, file)],
        {
          // A path and nothing else: no home of root's, and nothing that would make this a child of the running test.
          env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
          cwd: '/',
          encoding: 'utf8',
          maxBuffer: 2 ** 26,
        },
      );
      const told = `${stdout}${stderr}`.split('\n').filter((line) => !/^\s*ok /.test(line));
      assert.equal(status, 0, told.join('\n').slice(-4000));
      assert.match(stdout, /^# fail 0$/m);
    });
});
