// Owns: what audited denials are turned into, and what another policy would have decided.
// Refuses: the audit itself; rows here are what a store would give.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom, policyFrom } from '../../test/support/policy-from-text.ts';
import type { Effect } from '../contract/effect.ts';
import { ERRORS, type Reason } from '../contract/errors.ts';
import type { Verdict } from '../contract/policy.ts';
import { applyAdmit } from '../loader/haft-yaml/apply-admit.ts';
import { createPolicyEngine } from './create-policy-engine.ts';
import { replayDecisions, suggestPolicy } from './suggest.ts';

let calls = 0;
const row = (
  tool: string,
  verdict: Verdict,
  effects: readonly Effect[],
  rule = 'x',
  reason: Reason = 'policy.denied',
) => ({
  callId: `call_${calls++}`,
  tool,
  effects,
  decision: { verdict, rule },
  errors: [{ code: ERRORS[reason].code, reason }],
});
const exec = (command: string): Effect => ({ kind: 'exec', command });
const connect = (host: string): Effect => ({ kind: 'net.connect', scheme: 'https', host, port: 443 });
const write = (path: string): Effect => ({ kind: 'fs.write', path });

const POLICY = "shell_allow: ['^ls']\npaths: {rules: [{path: docs, write: ask}]}";

describe('suggestPolicy', () => {
  const rows = [
    row('shell_exec', 'deny', [exec('cargo test a')]),
    row('shell_exec', 'deny', [exec('cargo test b')]),
    row('other_exec', 'deny', [exec('cargo test c')]),
    row('shell_exec', 'deny', [exec('npm ci')]),
    row('curl', 'deny', [connect('crates.io')]),
    row('file_write', 'ask', [write('docs/a')]),
    row('shell_exec', 'deny', [exec('ls')]),
    row('file_write', 'deny', [write('.haft/x')], 'protected:.haft', 'path.protected'),
    row('file_read', 'allow', [write('a')]),
  ];

  it('proposes each line once, the most wanted first, without what is granted by now or never can be', async () => {
    const { suggestions } = await suggestPolicy(rows, await engineFrom(POLICY));
    assert.deepEqual(suggestions, [
      { admit: "shell_allow:\n  - '^cargo test(\\s|$)'\n", calls: 3, tools: ['other_exec', 'shell_exec'] },
      { admit: 'network:\n  allowed_domains:\n    - crates.io\n', calls: 1, tools: ['curl'] },
      { admit: 'paths:\n  rules:\n    - path: docs\n      write: allow\n', calls: 1, tools: ['file_write'] },
      { admit: "shell_allow:\n  - '^npm ci(\\s|$)'\n", calls: 1, tools: ['shell_exec'] },
    ]);
  });

  it('proposes all in one piece that admits them all', async () => {
    const { admit } = await suggestPolicy(rows, await engineFrom(POLICY));
    const engine = createPolicyEngine({
      loaded: await policyFrom(await applyAdmit(`version: 1\n${POLICY}\n`, admit)),
    });
    const left = await suggestPolicy(rows, engine);
    assert.deepEqual([left.suggestions, left.admit], [[], '']);
  });

  it('counts what lies outside of the workspace and what nothing admits, and offers no line for it', async () => {
    const refused = (tool: string, verdict: Verdict = 'deny', effects: readonly Effect[] = []) =>
      row(tool, verdict, effects, 'input', 'path.outside_workspace');
    const twice = refused('file_read');
    const link = refused('fs_list', 'allow', [{ kind: 'fs.read', path: 'link' }]);
    const outside = [twice, twice, refused('file_read'), refused('shell_exec'), link];
    const { suggestions, unoffered } = await suggestPolicy([...rows, ...outside], await engineFrom(POLICY));
    assert.equal(suggestions.length, 4);
    assert.deepEqual(unoffered, [
      { reason: 'path.outside_workspace', calls: 4, tools: ['file_read', 'fs_list', 'shell_exec'] },
      { reason: 'path.protected', calls: 1, tools: ['file_write'] },
    ]);
  });

  it('counts a call once though the audit has two rows of it', async () => {
    const twice = rows.slice(0, 1);
    const { suggestions } = await suggestPolicy([...twice, ...twice], await engineFrom(POLICY));
    assert.equal(suggestions[0]?.calls, 1);
  });
});

describe('replayDecisions', () => {
  it('lists the calls that another policy would decide otherwise', async () => {
    const kept = row('file_write', 'allow', [write('src/a')]);
    const asked = row('file_write', 'allow', [write('docs/a')]);
    const lifted = row('shell_exec', 'deny', [exec('ls -la')]);
    const undecided = row('nothing', 'deny', [], 'input');
    const elsewhere = row('table_sort', 'deny', [], 'runs.images');
    const rows = [kept, asked, lifted, lifted, undecided, elsewhere];
    const changes = await replayDecisions(rows, await engineFrom(POLICY));
    assert.deepEqual(
      changes.map(({ row: { callId }, before, after }) => [callId, before, after.verdict, after.rule]),
      [
        [asked.callId, 'allow', 'ask', 'paths.rules[0]'],
        [lifted.callId, 'deny', 'allow', 'tools.default'],
      ],
    );
  });
});
