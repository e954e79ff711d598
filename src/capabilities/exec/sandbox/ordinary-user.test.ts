// Owns: that all of this folder's tests also pass for an ordinary user when they are run by root.
// Refuses: to run itself; an ordinary user's own run of the tests is what this stands for.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findPrograms } from './availability.ts';

const NOBODY = '65534';

describe('the sandbox', () => {
  it('keeps its promises when an ordinary user starts it', () => {
    if (process.getuid?.() !== 0)
      return assert.ok(process.getuid, 'the tests beside this one have just shown it');
    const files = readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith('.test.ts') && name !== 'ordinary-user.test.ts')
      .map((name) => join(import.meta.dirname, name));
    const become = ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', '--inh-caps=-all', '--'];
    const programs = findPrograms();
    assert.ok('setpriv' in programs && programs.setpriv);
    const run = spawnSync(
      programs.setpriv,
      [...become, process.execPath, '--test', '--test-reporter=tap', ...files],
      {
        // A path and nothing else: no home of root's, and nothing that would make this a child of the running test.
        env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
        cwd: '/',
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      },
    );
    assert.equal(
      run.status,
      0,
      `${run.stdout}${run.stderr}`
        .split('\n')
        .filter((line) => !/^\s*ok /.test(line))
        .join('\n')
        .slice(-4000),
    );
    assert.match(run.stdout, /^# fail 0$/m);
  });
});
