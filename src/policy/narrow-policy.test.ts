// Owns: what a session may ask for and what would widen the host's grants, key by key.
// Refuses: how a narrowed policy decides; create-policy-engine.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PolicyFile } from '../contract/policy.ts';
import { checkNarrowing, wideningKeys } from './narrow-policy.ts';

const HOST: PolicyFile = {
  version: 1,
  network: { allowed_domains: ['crates.io', '*.rust-lang.org', { domain: 'x.org', decision: 'deny' }] },
  shell_allow: ['^cargo(\\s|$)'],
  git: { allow_push: false, require_clean_tree_for_commit: true },
  ast: { validate_on_edit: true },
  validators: [{ rule: 'secrets.scan', enforcement: 'warning' }],
  tools: { default: 'allow', rules: [{ tool: 'curl', decision: 'ask' }] },
  budgets: { calls: 10 },
  limits: { timeout_ms: 1000 },
  approvals: { expire_ms: 1000 },
  undo: { max_bytes: 1000 },
};

type Session = Omit<PolicyFile, 'version'>;

const NARROWS: { readonly [name: string]: Session } = {
  'nothing at all': {},
  'fewer hosts': { network: { allowed_domains: ['crates.io', 'doc.rust-lang.org', '*.doc.rust-lang.org'] } },
  'hosts that are denied': { network: { allowed_domains: [{ domain: 'evil.org', decision: 'deny' }] } },
  'narrower commands': { shell_allow: ['^cargo test', { pattern: 'rm', decision: 'deny' }] },
  'no push': { git: { allow_push: false } },
  'stricter switches': {
    git: { require_clean_tree_for_commit: true },
    ast: { validate_on_edit: true },
    sandbox: 'required',
  },
  'stricter and further validators': {
    validators: [
      { rule: 'secrets.scan', enforcement: 'blocking' },
      { rule: 'fmt.must.pass', enforcement: 'suggestion' },
    ],
  },
  'only some tools': { tools: { default: 'deny', rules: [{ tool: 'file_read', decision: 'allow' }] } },
  'tools denied and asked about': {
    tools: {
      rules: [
        { tool: 'a', decision: 'deny' },
        { tool: 'b', decision: 'ask' },
      ],
    },
  },
  'paths denied and asked about': { paths: { rules: [{ path: 'a', read: 'deny', write: 'ask' }] } },
  'smaller numbers': {
    budgets: { calls: 5, bytes: 7 },
    limits: { timeout_ms: 1000, max_output_bytes: 1 },
    undo: { max_bytes: 1 },
  },
};

const WIDENS: { readonly [name: string]: readonly [session: Session, keys: readonly string[]] } = {
  'programs that a rule does not bind': [
    { paths: { rules: [{ path: '**', write: 'ask', programs: 'allow' }] } },
    ['paths.rules[0].programs'],
  ],
  'another host': [
    { network: { allowed_domains: ['crates.io', 'evil.org'] } },
    ['network.allowed_domains[1]'],
  ],
  'the host above': [{ network: { allowed_domains: ['rust-lang.org'] } }, ['network.allowed_domains[0]']],
  'another port': [{ network: { allowed_domains: ['crates.io:8080'] } }, ['network.allowed_domains[0]']],
  'a host that the host denies': [
    { network: { allowed_domains: ['x.org'] } },
    ['network.allowed_domains[0]'],
  ],
  push: [{ git: { allow_push: true } }, ['git.allow_push']],
  'a dirty tree': [{ git: { require_clean_tree_for_commit: false } }, ['git.require_clean_tree_for_commit']],
  'unchecked edits': [{ ast: { validate_on_edit: false } }, ['ast.validate_on_edit']],
  'a lower validator': [
    { validators: [{ rule: 'secrets.scan', enforcement: 'suggestion' }] },
    ['validators[0]'],
  ],
  'a tool without need': [
    { tools: { rules: [{ tool: 'file_read', decision: 'allow' }] } },
    ['tools.rules[0]'],
  ],
  'a tool that the host asks about': [
    { tools: { default: 'deny', rules: [{ tool: 'curl', decision: 'allow' }] } },
    ['tools.rules[0]'],
  ],
  'a root': [{ paths: { extra_roots: ['/etc'] } }, ['paths.extra_roots[0]']],
  'a path': [{ paths: { rules: [{ path: 'a', read: 'deny', write: 'allow' }] } }, ['paths.rules[0].write']],
  'larger numbers': [
    {
      budgets: { calls: 11 },
      limits: { timeout_ms: 1001 },
      approvals: { expire_ms: 1001 },
      undo: { max_bytes: 1001 },
    },
    ['budgets.calls', 'limits.timeout_ms', 'approvals.expire_ms', 'undo.max_bytes'],
  ],
  'what the workspace keeps': [
    { undo: { keep: { days: 1000 } }, audit: { keep: { rows: 5 } } },
    ['undo.keep', 'audit'],
  ],
  'no sandbox': [{ sandbox: 'optional' }, ['sandbox']],
  packs: [{ packs: ['x'] }, ['packs']],
};

describe('checkNarrowing', () => {
  for (const [name, session] of Object.entries(NARROWS)) {
    it(`lets a session ask for ${name}`, () => {
      assert.deepEqual(wideningKeys(HOST, { version: 1, ...session }), []);
      checkNarrowing(HOST, { version: 1, ...session });
    });
  }

  for (const [name, [session, keys]] of Object.entries(WIDENS)) {
    it(`refuses a session that asks for ${name}, and names the key`, () => {
      assert.deepEqual([...wideningKeys(HOST, { version: 1, ...session })].sort(), [...keys].sort());
      assert.throws(() => checkNarrowing(HOST, { version: 1, ...session }), {
        reason: 'policy.widens',
        message: new RegExp(keys.map((key) => key.replace(/[[\].]/g, '\\$&')).join('|')),
      });
    });
  }

  it('refuses more than what holds where the host says nothing', () => {
    const session = { approvals: { expire_ms: 15 * 60_000 }, undo: { max_bytes: 64 * 1024 * 1024 } };
    assert.deepEqual(wideningKeys({ version: 1 }, { version: 1, ...session }), []);
    const more = { approvals: { expire_ms: 15 * 60_000 + 1 }, undo: { max_bytes: 64 * 1024 * 1024 + 1 } };
    assert.deepEqual(wideningKeys({ version: 1 }, { version: 1, ...more }), [
      'approvals.expire_ms',
      'undo.max_bytes',
    ]);
  });

  it('refuses commands where the host grants none, and a milder default', () => {
    const closed: PolicyFile = { version: 1, tools: { default: 'deny' } };
    assert.deepEqual(wideningKeys(closed, { version: 1, shell_allow: ['^ls'] }), ['shell_allow[0]']);
    assert.deepEqual(wideningKeys(closed, { version: 1, tools: { default: 'ask' } }), ['tools.default']);
  });
});
