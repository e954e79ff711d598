// Owns: how a grant gets into the text of haft.yaml without disturbing what a person wrote there.
// Refuses: whether it admits the call; src/policy/admit.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyAdmit } from './apply-admit.ts';

const CASES: { readonly [name: string]: readonly [before: string, admit: string, after: string] } = {
  'starts a file': ['', 'git:\n  allow_push: true\n', 'version: 1\ngit:\n  allow_push: true\n'],
  'adds to a list and keeps comments': [
    "version: 1\n# commands\nshell_allow:\n  - '^a' # first\n\n# the end\n",
    "shell_allow:\n  - '^b(\\s|$)'\n",
    "version: 1\n# commands\nshell_allow:\n  - '^a' # first\n  - ^b(\\s|$)\n\n# the end\n",
  ],
  'adds to a list in brackets': [
    'version: 1\nnetwork: { allowed_domains: [ a.org ] } # few\n',
    'network:\n  allowed_domains:\n    - b.org\n',
    'version: 1\nnetwork: { allowed_domains: [ a.org, b.org ] } # few\n',
  ],
  'leaves alone what is there': [
    'version: 1\npacks: []\nshell_allow: [ ^a ]\n',
    'shell_allow:\n  - ^a\n',
    'version: 1\npacks: []\nshell_allow: [ ^a ]\n',
  ],
  'changes a rule in place, and drops the examples of what it was': [
    'version: 1\npaths:\n  rules:\n    - path: a\n      read: deny # no\n      write: deny\n      examples: {deny: [a/b]}\n',
    'paths:\n  rules:\n    - path: a\n      read: allow\n',
    'version: 1\npaths:\n  rules:\n    - path: a\n      read: allow # no\n      write: deny\n',
  ],
  'changes every entry of the same rule': [
    'version: 1\ntools:\n  rules:\n    - &x { tool: a, decision: deny }\n    - *x\n    - { tool: a, paths: [ b ], decision: deny }\n',
    'tools:\n  rules:\n    - tool: a\n      decision: allow\n',
    'version: 1\ntools:\n  rules:\n    - &x { tool: a, decision: allow }\n    - *x\n    - { tool: a, paths: [ b ], decision: deny }\n',
  ],
};

describe('applyAdmit', () => {
  for (const [name, [before, admit, after]] of Object.entries(CASES)) {
    it(name, async () => assert.equal(await applyAdmit(before, admit), after));
  }

  it('refuses a file that is no YAML', async () => {
    await assert.rejects(applyAdmit('a: [', 'git:\n  allow_push: true\n'), { reason: 'policy.invalid' });
    await assert.rejects(applyAdmit('- a\n', 'git:\n  allow_push: true\n'), { reason: 'policy.invalid' });
  });
});
