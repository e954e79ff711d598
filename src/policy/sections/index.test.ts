// Owns: what holds of the list of sections: one for each key and for each kind of effect, and careful defaults.
// Refuses: what a section means; its own tests have that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom, policyFrom } from '../../../test/support/policy-from-text.ts';
import type { Effect } from '../../contract/effect.ts';
import { SECTIONS } from './index.ts';

const KINDS = [
  'artifact.import',
  'artifact.read',
  'exec',
  'fs.read',
  'fs.write',
  'git',
  'net.connect',
  'proc.list',
  'run.backend',
  'run.cancel',
  'run.read',
  'run.submit',
];

describe('SECTIONS', () => {
  it('have one for each key', () => {
    const keys = SECTIONS.map(({ key }) => key);
    assert.deepEqual(keys, [...new Set(keys)]);
  });

  it('decide every kind of effect, each once', () => {
    const decided = SECTIONS.flatMap(({ effects = {} }) => Object.keys(effects));
    assert.deepEqual(decided.toSorted(), KINDS);
  });

  it('are all named by a file that the loader takes', async () => {
    const { file } = await policyFrom(EVERYTHING);
    assert.deepEqual(
      Object.keys(file),
      SECTIONS.map(({ key }) => key),
    );
  });

  it('deny effects of a kind that none of them decides', async () => {
    const effect = { kind: 'device.wipe', device: 'sda' } as unknown as Effect;
    const { decision } = (await engineFrom('')).decide('some_tool', [effect]);
    assert.equal(decision.reason, 'policy.denied');
    assert.equal(
      decision.message,
      'Cannot wipe device sda: no section of haft.yaml decides effects of this kind',
    );
  });
});

const EVERYTHING = `version: 1
network: {allowed_domains: [a.org]}
shell_allow: ['^true$']
git: {allow_push: true}
ast: {language: rust}
validators: [{rule: secrets.scan, enforcement: warning}]
tools: {default: ask}
paths: {rules: [{path: a, read: deny}]}
budgets: {calls: 1}
limits: {timeout_ms: 1}
approvals: {expire_ms: 1}
undo: {max_bytes: 1}
audit: {keep: {days: 1}}
sandbox: optional
packs: [a]
runs: {backend: local}
`;
