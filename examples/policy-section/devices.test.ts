// Owns: what every door of a policy makes of the section `devices`, once it is in the list.
// Refuses: what holds of all sections; that is tested without it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderHaftYamlReference } from '../../scripts/haft-yaml-page.ts';
import { comparePolicies, describeGrants } from '../../src/policy/compare-policies.ts';
import { createPolicyEngine } from '../../src/policy/create-policy-engine.ts';
import { wideningKeys } from '../../src/policy/narrow-policy.ts';
import { engineFrom, policyFrom } from '../../test/support/policy-from-text.ts';

const use = (device: string) => ({ kind: 'device.use', device }) as const;
const GPU = { version: 1, devices: { allow: ['gpu0'] } } as const;

describe('devices', () => {
  it('decides who may use a device, and says what would admit', async () => {
    const engine = await engineFrom('devices: {allow: [gpu0]}');
    assert.equal(engine.decide('train', [use('gpu0')]).decision.verdict, 'allow');
    const { decision } = engine.decide('train', [use('gpu1')]);
    assert.equal(
      decision.message,
      'Cannot use device gpu1: devices.allow (haft.yaml line 2) does not name it',
    );
    const granted = createPolicyEngine({ loaded: await policyFrom(`version: 1\n${decision.admit}`) });
    assert.equal(granted.decide('train', [use('gpu1')]).decision.verdict, 'allow');
  });

  it('is not granted where the file says nothing, and then leaves the hash of the policy as it is', async () => {
    const engine = await engineFrom('');
    assert.equal(engine.decide('train', [use('gpu0')]).decision.verdict, 'deny');
    assert.equal(engine.hash, 'ad68a6c169a85ba72750a4b5f0fe202c8e1079cac9837d525726a84cb69937bd');
    assert.notEqual((await engineFrom('devices: {allow: [gpu0]}')).hash, engine.hash);
  });

  it('is checked, narrowed by sessions, compared and described like any other', async () => {
    await assert.rejects(policyFrom('version: 1\ndevices: {alow: []}\n'), /allow/);
    assert.deepEqual(wideningKeys(GPU, { version: 1, devices: { allow: ['gpu0', 'gpu1'] } }), [
      'devices.allow[1]',
    ]);
    assert.deepEqual(comparePolicies({ version: 1 }, GPU), [
      { key: 'devices.allow', after: 'gpu0', widens: true },
    ]);
    assert.deepEqual(describeGrants(GPU), ['the device "gpu0"']);
    assert.match(renderHaftYamlReference(), /## `devices`/);
  });
});
