// Owns: that a registry given as an object is held to the same table as haft.yaml.
// Refuses: each diagnostic; diagnostics.test.ts has them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkPolicyObject } from './check-policy.ts';

describe('checkPolicyObject', () => {
  it('answers the policy where nothing is wrong', async () => {
    const registry = {
      version: 1,
      tools: { default: 'deny', rules: [] },
      shell_allow: ['^a'],
      ast: undefined,
    };
    const { value, diagnostics } = await checkPolicyObject(registry);
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(value, { version: 1, tools: { default: 'deny', rules: [] }, shell_allow: ['^a'] });
  });

  it('tells everything that is wrong, by its path', async () => {
    const registry = {
      version: 1,
      tols: {},
      limits: { timeout_ms: -1 },
      shell_allow: ['('],
      validators: [{ rule: 'x', enforcement: 'blocking' }],
      git: { allow_push: () => true },
    };
    const { value, diagnostics } = await checkPolicyObject(registry, 'session');
    assert.equal(value, undefined);
    assert.deepEqual(
      diagnostics.map(({ file, code, message }) => `${file} ${code} ${message.split(/[: ]/)[0]}`).sort(),
      [
        'session key.unknown haft.yaml',
        'session pattern.invalid shell_allow[0]',
        'session rule.unknown validators[0]',
        'session value.range limits.timeout_ms',
        'session value.type git.allow_push',
      ],
    );
  });

  it('refuses what is no object, and what never ends', async () => {
    const endless: { version: number; packs: unknown[] } = { version: 1, packs: [] };
    endless.packs.push(endless, endless);
    for (const bad of [null, 1, [], 'x', new Date(), endless]) {
      assert.equal((await checkPolicyObject(bad)).value, undefined);
    }
  });
});
