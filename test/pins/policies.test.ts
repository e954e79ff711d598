// Owns: the identity of policies, frozen: a hash here is in audits, approvals and run ids that exist.
// Refuses: new values without a decision: runs would be made again and approvals asked again.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { haftYamlSchema } from '../../scripts/haft-yaml-page.ts';
import type { PolicyFile } from '../../src/contract/policy.ts';
import { engineFrom } from '../support/policy-from-text.ts';

interface Pin {
  readonly when: string;
  readonly policy: string;
  readonly session?: Omit<PolicyFile, 'version'>;
  /** Of the whole; then of the projections on file_read, shell_exec and packs.sort. */
  readonly hashes: readonly [string, string, string, string];
}

const PINS: readonly Pin[] = [
  {
    when: 'no policy',
    policy: '',
    hashes: [
      'ad68a6c169a85ba72750a4b5f0fe202c8e1079cac9837d525726a84cb69937bd',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
    ],
  },
  {
    when: 'hosts and commands',
    policy: `network: {allowed_domains: [b.org, '*.a.org', {domain: 'localhost:80', decision: ask, private: true}]}
shell_allow: ['^npm', {pattern: 'rm', decision: deny}, {pattern: '^git push', decision: ask}]`,
    hashes: [
      '1af4b2970621c5068cb44399ad04f5479c71e3b0085afe4548a746b9834b2b04',
      '7aaaea5bab20ded63132991fcb4a07a4130cc075c30062f6365c2d16ffae76e5',
      '7aaaea5bab20ded63132991fcb4a07a4130cc075c30062f6365c2d16ffae76e5',
      '7aaaea5bab20ded63132991fcb4a07a4130cc075c30062f6365c2d16ffae76e5',
    ],
  },
  {
    when: 'paths',
    policy: `paths:
  extra_roots: [../beside]
  rules:
    - {path: secrets, read: deny, write: deny}
    - {path: docs, write: ask}
    - {path: '**/node_modules', write: ask, programs: allow}
    - {path: 'out/**', read: allow, examples: {allow: [out/a]}}`,
    hashes: [
      '39444778363bd6ae16cbee9ca962b37c96e272565d028a946804b29940f799d7',
      'ea1b0477f342bd72e44042db0411b9a88cd1d391871df0b063596dbf00cd4675',
      'ea1b0477f342bd72e44042db0411b9a88cd1d391871df0b063596dbf00cd4675',
      'ea1b0477f342bd72e44042db0411b9a88cd1d391871df0b063596dbf00cd4675',
    ],
  },
  {
    when: 'tools that are denied by default',
    policy: `tools:
  default: deny
  rules:
    - {tool: 'file_*', decision: allow, paths: ['src/**', docs]}
    - {tool: shell_exec, decision: ask, paths: [docs]}
    - {tool: file_read, decision: deny, paths: [docs/secret]}`,
    hashes: [
      'c218f4add1968d243fa0ae4f9ada7e90b4e890092a6c472ed119d24c10770d5b',
      'f4c247aceef381da331c5ab37a21b2411adbf63be5d4135b4173c839b365f4fe',
      'fc63f21c2e078bd91d30e512c17c3e6b8477cca332019079ade3f434b2181980',
      '1d633a35313853f5b199a1c0d1fe750cf5fdec5073c4de3b7aaa908286ac12da',
    ],
  },
  {
    when: 'tools that ask',
    policy: 'tools: {default: ask, rules: [{tool: shell_exec, decision: deny}, {tool: x, decision: allow}]}',
    hashes: [
      '30a2f497a1f32de0f949c88b64791718a1bc7855fcff23185251244d11df431c',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '53a0be12b8dc257c39bd70f28ac2d8ac6c830c4b5dbcfa4563e9c516d9e873f1',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
    ],
  },
  {
    when: 'switches',
    policy:
      'git: {allow_push: true, require_clean_tree_for_commit: true}\nast: {language: rust, validate_on_edit: true}\nsandbox: optional',
    hashes: [
      '41100dc41c343ca5197a3bcca820c4057923c6cf70eff9842e4cad974908e529',
      '0bdffff76c68841639d244bd2ae6766581bb42f6d66f60041e8902b0b1bab7ee',
      '0bdffff76c68841639d244bd2ae6766581bb42f6d66f60041e8902b0b1bab7ee',
      '0bdffff76c68841639d244bd2ae6766581bb42f6d66f60041e8902b0b1bab7ee',
    ],
  },
  {
    when: 'numbers',
    policy:
      'budgets: {calls: 10, wall_ms: 5}\nlimits: {timeout_ms: 1000, max_output_bytes: 9}\napprovals: {expire_ms: 7}\nundo: {max_bytes: 1, keep: {days: 2}}\naudit: {keep: {rows: 3}}',
    hashes: [
      '0caff90c8ee244d12e62dc9d4a817ad5da11d88b2266f7d5ea22eee71ecfc89e',
      'fd403ef5132bdb6ad5f7bf88cb851284a39e3f853ee82450e446804a26f7d27b',
      'fd403ef5132bdb6ad5f7bf88cb851284a39e3f853ee82450e446804a26f7d27b',
      'fd403ef5132bdb6ad5f7bf88cb851284a39e3f853ee82450e446804a26f7d27b',
    ],
  },
  {
    when: 'empty sections',
    policy:
      'budgets: {}\nundo: {}\naudit: {}\nruns: {}\ngit: {}\ntools: {}\npaths: {}\nnetwork: {}\nshell_allow: []',
    hashes: [
      'a281b46dd6bb126c5948b70edbfe8f825a7de640e4f2b2b6afddc2ba03f4e27f',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
    ],
  },
  {
    when: 'rules and packs',
    policy:
      'validators: [{rule: secrets.scan, enforcement: blocking}, {rule: code.ast.parsed, enforcement: warning}]\npacks: [tools/a, {name: s, stdio: {command: [x]}, enabled: false}]',
    hashes: [
      '3d768d466d3abcbf2727d19750787c80f36c68d5958b33ab7965828ce6f234ba',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
      '89920b65f9b970ddd0eb595a16c9d098e35a7c844092e5233e8bd56f2dce0ee5',
    ],
  },
  {
    when: 'runs',
    policy: `runs:
  backend: docker
  backends: [slurm, local]
  rules: [{tool: 'packs.*', backend: local, backends: [docker]}]
  images:
    - registry/*
    - {image: 'sha256:${'a'.repeat(64)}', name: base, tools: ['packs.*']}
  limits: {cpus: 1.5, processes: 9}
  slurm: {partitions: [short], max_jobs: 2}`,
    hashes: [
      '36148b5273125cc9e5645076a3c9ed7d96f73b8a755ea6b193cf068c17aace9c',
      'a69c487ba0ff0125213a1e2c134d2c41bc5261799651da580482bc89b92de511',
      'a69c487ba0ff0125213a1e2c134d2c41bc5261799651da580482bc89b92de511',
      'daef4348ba926667198202a5e133d636149c3f6e04f339e612298a63b9e4e039',
    ],
  },
  {
    when: 'a session that narrows',
    policy: 'network: {allowed_domains: [a.org]}\nshell_allow: [^npm]\nlimits: {timeout_ms: 10}',
    session: {
      network: { allowed_domains: ['a.org'] },
      shell_allow: ['^npm test'],
      tools: { rules: [{ tool: 'file_read', decision: 'deny', paths: ['x'] }] },
      limits: { timeout_ms: 5 },
      git: { allow_push: false },
      sandbox: 'required',
    },
    hashes: [
      '20830c21d7525b3de6e108f392c0a380a292e2d4ce191cc7ac1b701de8190971',
      'e5539e782a5d490bb5ecdf525cbb95f82ef0d353a570d2b7bc46dea74c11eca7',
      '5a2cd5c1a3b61765815f473285b40a526fe16d406e8e1fca6ac9b69dbe185297',
      '5a2cd5c1a3b61765815f473285b40a526fe16d406e8e1fca6ac9b69dbe185297',
    ],
  },
  {
    when: 'a session that says nothing of tools',
    policy: 'git: {allow_push: true}',
    session: { budgets: { calls: 1 }, paths: { rules: [{ path: 'a', write: 'ask' }] } },
    hashes: [
      '516a4a972a60eb82141a28dc56706bbddae74eb3bb268009644755b99004b91d',
      'f633b857d2fbe8bb4523aaf136246d5f4cd00c4afcce4caed07ce264720c6d47',
      'f633b857d2fbe8bb4523aaf136246d5f4cd00c4afcce4caed07ce264720c6d47',
      'f633b857d2fbe8bb4523aaf136246d5f4cd00c4afcce4caed07ce264720c6d47',
    ],
  },
];

describe('the hashes of policies', () => {
  for (const { when, policy, session, hashes } of PINS) {
    it(`stay: ${when}`, async () => {
      const engine = await engineFrom(policy, session ? [{ version: 1, ...session }] : []);
      const of = (tool: string) => engine.hashFor(tool);
      assert.deepEqual([engine.hash, of('file_read'), of('shell_exec'), of('packs.sort')], hashes);
    });
  }

  it('stay with the schema for editors', () => {
    const text = JSON.stringify(haftYamlSchema());
    assert.equal(
      createHash('sha256').update(text).digest('hex'),
      'f1dd44d4da3291030a646ace1422588f9e3bea34fbf8624372b3fe7b54512cbe',
    );
  });
});
