import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import type { Failure } from '../../../contract/errors.ts';
import type { Fence } from '../../../contract/policy.ts';
import { NO_NEEDS } from '../../../contract/program.ts';
import { isAlive } from '../../../stores/process-identity.ts';
import { fencesInUse } from '../../fences-in-use.ts';
import { type ProgramFixture, withPrograms } from '../programs-for-tests.ts';

const deny = (glob: string, read = false): Fence => ({ glob, read, write: true });

describe('a fence whose file is replaced', () => {
  const running = async (fixture: ProgramFixture, fences: readonly Fence[], then: () => unknown) => {
    const line = 'touch ready; while [ ! -e go ]; do sleep 0.02; done; cat .env; echo x >> .npmrc; true';
    const run = fixture.call({ policy: { fences } }).shell({
      cmd: line,
      cwd: '.',
      env: {},
      timeoutMs: 20_000,
      allowNetwork: false,
      captureBytes: 10_000,
    });
    run.catch(() => {});
    await eventually(() => existsSync(join(fixture.root, 'ready')), 'the program');
    await then();
    writeFileSync(join(fixture.root, 'go'), '');
    return run.then(
      () => assert.fail('it succeeded'),
      (thrown: Failure) => thrown,
    );
  };
  const replace = (path: string) => {
    writeFileSync(`${path}.new`, 'new');
    renameSync(`${path}.new`, path);
  };

  it('fails the call, with the path: what is read-denied, write-denied, and held by a placeholder', async () => {
    for (const [name, fences] of [
      ['.env', [deny('**/.env', true)]],
      ['.npmrc', [deny('.npmrc')]],
      ['.env.local', [deny('.env.local')]],
    ] as const)
      await withPrograms({ '.env': 'old', '.npmrc': 'old' }, async (fixture) => {
        const error = await running(fixture, fences, () => replace(join(fixture.root, name)));
        assert.equal(error.reason, 'sandbox.fence_fell', error.message);
        assert.deepEqual(error.details?.paths, [name]);
        assert.deepEqual(readdirSync(join(fixture.root, '.haft/placeholders')), []);
      });
  });

  it('is said to whoever would replace it, while the program runs', async () => {
    await withPrograms({ '.env': 'old', '.npmrc': 'old' }, async (fixture) => {
      const { root } = fixture;
      const fences = [deny('**/.env', true), deny('.npmrc'), deny('new')];
      let seen: readonly string[] = [];
      await running(fixture, fences, () => {
        seen = [...fencesInUse(root, isAlive)];
        assert.deepEqual([...fencesInUse(root, () => false)], []);
        replace(join(root, '.env'));
      });
      assert.deepEqual(seen.map((path) => path.slice(root.length + 1)).sort(), ['.env', '.npmrc', 'new']);
      assert.deepEqual([...fencesInUse(root)], []);
    });
  });

  it('makes a program that is kept another one', async () => {
    await withPrograms({ '.env': 'old' }, async ({ root, call }) => {
      const program = { argv: ['cat'] as const, env: {}, needs: { ...NO_NEEDS, reads: ['.'] } };
      const profile = () =>
        call({ policy: { fences: [deny('.env', true), deny('new')] } }).profile({
          ...program,
          argv: ['cat'],
        });
      const before = await profile();
      assert.equal(await profile(), before);
      replace(join(root, '.env'));
      assert.notEqual(await profile(), before);
    });
  });
});
