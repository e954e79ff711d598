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
    "version: 1\n# commands\nshell_allow:\n  - '^a' # first\n  - '^b(\\s|$)'\n\n# the end\n",
  ],
  'keeps spacing, quotes and blank lines of what it does not change': [
    'version:   1\n\n\n# one\nshell_allow:   # two\n    - \'^a\'     # three\n    - "^b"\npaths: {rules: [{path: x,write: deny}]}\n',
    'shell_allow:\n  - ^c\n',
    "version:   1\n\n\n# one\nshell_allow:   # two\n    - '^a'     # three\n    - \"^b\"\n    - '^c'\npaths: {rules: [{path: x,write: deny}]}\n",
  ],
  'keeps lists that are not indented': [
    'version: 1\npaths:\n  rules:\n  - path: a\n    write: deny\n  - {path: b,read: deny}\nshell_allow:\n- ^a\n',
    'shell_allow:\n  - ^b\npaths:\n  rules:\n    - path: b\n      read: allow\n    - path: c\n      write: allow\n',
    "version: 1\npaths:\n  rules:\n  - path: a\n    write: deny\n  - { path: b, read: allow }\n  - path: c\n    write: allow\nshell_allow:\n- ^a\n- '^b'\n",
  ],
  'keeps the line ends of Windows': [
    "version: 1\r\n# commands\r\nshell_allow:\r\n  - '^a' # first\r\n\r\n# the end\r\n",
    'shell_allow:\n  - ^b\n',
    "version: 1\r\n# commands\r\nshell_allow:\r\n  - '^a' # first\r\n  - '^b'\r\n\r\n# the end\r\n",
  ],
  'keeps line ends that differ, each as it was': [
    'version: 1\nshell_allow:\r\n  - ^a\r\n',
    'shell_allow:\n  - ^b\n',
    "version: 1\nshell_allow:\r\n  - ^a\r\n  - '^b'\r\n",
  ],
  'adds to a file whose last line has no end': [
    'version: 1\nshell_allow:\n  - ^a',
    'shell_allow:\n  - ^b\n',
    "version: 1\nshell_allow:\n  - ^a\n  - '^b'\n",
  ],
  'keeps a byte order mark': ['\ufeffversion: 1\n', 'packs: [ a ]\n', '\ufeffversion: 1\npacks:\n  - a\n'],
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
