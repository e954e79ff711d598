// Owns: every diagnostic of what the rules and examples of haft.yaml say together, each with its exact place.
// Refuses: single keys and values; diagnostics.test.ts has them.
import { describe } from 'node:test';
import { type DiagnosticCase, itTells, policyTexts } from './diagnostics-for-tests.ts';

const CASES: readonly DiagnosticCase[] = [
  // Rules
  {
    code: 'rule.unknown',
    at: [3, 11],
    lines: ['validators:', '  - rule: secrets.scann', '    enforcement: blocking'],
    hint: 'secrets.scan',
  },
  {
    code: 'rule.unavailable',
    at: [3, 11],
    lines: ['validators:', '  - rule: lint.must.pass', '    enforcement: blocking'],
    hint: 'warning',
  },
  {
    code: 'rule.unavailable',
    at: [3, 11],
    lines: ['validators:', '  - rule: lint.must.pass', '    enforcement: warning'],
    severity: 'warning',
  },
  {
    code: 'rule.lowered',
    at: [4, 18],
    lines: ['validators:', '  - rule: sec.paths.sandbox', '    enforcement: warning'],
    hint: 'blocking',
  },
  {
    code: 'key.no_effect',
    at: [3, 5],
    lines: ['validators:', '  - rule: sec.paths.sandbox', '    enforcement: blocking'],
    severity: 'warning',
    says: 'it always holds',
    hint: 'remove it',
  },
  {
    code: 'key.no_effect',
    at: [2, 56],
    lines: ['git: {allow_push: true, require_clean_tree_for_commit: true}'],
    severity: 'warning',
    says: 'git.require_clean_tree_for_commit has no effect yet',
  },
  {
    code: 'key.no_effect',
    at: [3, 21],
    lines: ['ast:', '  validate_on_edit: true'],
    severity: 'warning',
    says: 'ast.validate_on_edit has no effect yet',
  },
  {
    code: 'rule.duplicate',
    at: [5, 11],
    lines: [
      'validators:',
      '  - rule: secrets.scan',
      '    enforcement: blocking',
      '  - rule: secrets.scan',
      '    enforcement: warning',
    ],
    says: 'validators[0]',
  },
  {
    code: 'rule.shadowed',
    at: [6, 17],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: file_*, decision: deny}',
      '    - tool: file_read',
      '      decision: allow',
    ],
    says: 'tools.rules[0] (line 4)',
    severity: 'warning',
  },
  {
    code: 'rule.shadowed',
    at: [5, 43],
    lines: [
      'paths:',
      '  rules:',
      '    - {path: "docs/**", write: ask}',
      '    - {path: docs/a.md, read: ask, write: allow}',
    ],
    severity: 'warning',
  },

  // Examples
  {
    code: 'example.fails',
    at: [7, 16],
    lines: [
      'paths:',
      '  rules:',
      '    - path: secrets',
      '      read: deny',
      '      examples:',
      '        deny: [secrts/key]',
    ],
    says: 'read of "secrts/key" must not be let through, and the default says allow',
  },
  {
    code: 'example.fails',
    at: [7, 17],
    lines: [
      'paths:',
      '  rules:',
      '    - path: secrets',
      '      write: deny',
      '      examples:',
      "        allow: ['write: secrets/x']",
    ],
    says: 'paths.rules[0] says deny',
  },
  {
    code: 'example.fails',
    at: [5, 14],
    lines: ['shell_allow:', "  - pattern: '^cargo'", '    examples:', '      deny: [cargo-evil]'],
    says: '"cargo-evil" must not be let through, and shell_allow[0] says allow',
  },
  {
    code: 'example.fails',
    at: [6, 17],
    lines: [
      'network:',
      '  allowed_domains:',
      '    - domain: crates.io',
      '      examples:',
      '        allow: ["https://crates.io:8443/x"]',
    ],
    says: 'the default says deny',
  },
  {
    code: 'example.fails',
    at: [6, 22],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: curl, decision: ask, examples: {',
      '        allow: [file_read],',
      '        deny: [curl, wget]}}',
    ],
    says: '"wget" must not be let through',
  },
  {
    code: 'example.fails',
    at: [5, 47],
    lines: [
      'paths:',
      '  rules:',
      '    - {path: a, read: deny}',
      '    - {path: b, read: deny, examples: {deny: [a/x]}}',
    ],
    says: 'is not matched by this rule, but by paths.rules[0]',
  },
  {
    code: 'example.fails',
    at: [4, 68],
    lines: [
      'tools:',
      '  rules:',
      '    - {tool: curl, paths: [src], decision: deny, examples: {deny: [curl]}}',
    ],
    says: 'a path where the rule has paths',
  },
];

describe('loadHaftYaml', () => itTells(CASES, policyTexts()));
