// Owns: proof that what a denial proposes really admits the call, once it is in haft.yaml.
// Refuses: deciding; create-policy-engine.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { policyFrom } from '../../test/support/policy-from-text.ts';
import fc from '../../test/support/properties.ts';
import type { Effect } from '../contract/effect.ts';
import { applyAdmit } from '../loader/haft-yaml/apply-admit.ts';
import { createPolicyEngine } from './create-policy-engine.ts';
import { mergeGrants, renderGrant } from './grant.ts';
import type { Grant } from './section.ts';

async function engineOf(text: string) {
  const engine = createPolicyEngine({ loaded: await policyFrom(text) });
  await engine.ready([
    { kind: 'exec', command: '' },
    { kind: 'net.connect', scheme: '*', host: '*', port: 0 },
  ]);
  return engine;
}

const POLICY = `# what this project grants
version: 1
network: {allowed_domains: [crates.io, {domain: "*.bad.org", decision: deny}]} # few
shell_allow:
  - '^cargo(\\s|$)' # builds
  - pattern: '--token'
    decision: deny
    examples: {deny: [x --token]}
tools:
  default: allow
  rules:
    - {tool: curl, decision: ask}
    - {tool: "file_*", decision: deny, paths: [vendor, "gen/**"]}
    - &no {tool: rm_all, decision: deny}
    - *no
paths:
  rules:
    - path: secrets
      read: deny   # nobody
      write: deny
      examples:
        deny: [secrets/key]
    - {path: "**/*.pem", read: deny, write: ask}
    - {path: docs, write: ask}
    - {path: docs, write: deny}
`;

const path = fc.constantFrom(
  'a',
  'secrets/x',
  'secrets/y.pem',
  'docs/a',
  'docs/b.pem',
  'vendor/v',
  'gen/g.pem',
  '.git/config',
  '.haft/x',
  'haft.yaml',
  '/opt/data/x',
  '../beside/y',
  '/etc',
  "odd name/it's: #1",
);
const effect: fc.Arbitrary<Effect> = fc.oneof(
  fc.record({ kind: fc.constantFrom('fs.read' as const, 'fs.write' as const), path }),
  fc.record({ kind: fc.constant('fs.write' as const), path, tree: fc.constant(true as const) }),
  fc.record({
    kind: fc.constant('exec' as const),
    command: fc.constantFrom(
      'cargo test',
      'cargo x --token y',
      'npm run build',
      'ls -la',
      "python -c 'print(1)'",
      'rm a.b',
      './x.sh',
      'a+b',
      '/usr/bin/env --token',
    ),
  }),
  fc.record({
    kind: fc.constant('net.connect' as const),
    scheme: fc.constantFrom('http', 'https'),
    host: fc.constantFrom(
      'crates.io',
      'a.bad.org',
      'example.org',
      'localhost',
      '127.0.0.1',
      '[::1]',
      '0.0.0.0',
    ),
    port: fc.constantFrom(80, 443, 8080),
  }),
  fc.record({ kind: fc.constant('git' as const), operation: fc.constantFrom('push', 'commit') }),
);
const tool = fc.constantFrom('curl', 'file_read', 'file_write', 'rm_all', 'other');

describe('what a denial proposes', () => {
  for (const [name, text] of Object.entries({
    'a policy with rules': POLICY,
    'the defaults': 'version: 1\n',
    'a policy that denies by default': 'version: 1\ntools: {default: deny}\nshell_allow: []\n',
  })) {
    it(`admits the call once it is in ${name}`, async () => {
      const before = await engineOf(text);
      let lifted = 0;
      await fc.assert(
        fc.asyncProperty(tool, fc.array(effect, { maxLength: 3 }), async (id, effects) => {
          const { decision } = before.decide(id, effects);
          if (decision.verdict === 'allow') return;
          if (decision.admit === undefined) {
            // Only what is protected, has no folder that could be named, or is no place to connect to cannot be lifted.
            const reasons = before.decide(id, effects).all.map(({ reason }) => reason);
            assert.ok(
              reasons.includes('path.protected') ||
                reasons.includes('path.outside_workspace') ||
                effects.some((one) => one.kind === 'net.connect' && one.host === '0.0.0.0'),
              decision.message,
            );
            return;
          }
          const changed = await applyAdmit(text, decision.admit);
          const after = (await engineOf(changed)).decide(id, effects);
          assert.equal(
            after.decision.verdict,
            'allow',
            `${decision.admit}\n${changed}\n${after.decision.message}`,
          );
          lifted++;
        }),
        { numRuns: 300 },
      );
      assert.ok(lifted > 50, `${lifted} calls were lifted`);
    });
  }

  it('is the change of the rule that denies, where one does', async () => {
    const engine = await engineOf(POLICY);
    const { decision } = engine.decide('other', [{ kind: 'fs.read', path: 'secrets/key' }]);
    assert.equal(decision.admit, 'paths:\n  rules:\n    - path: secrets\n      read: allow\n');
    assert.match(decision.message, /haft\.yaml line 18/);
  });

  it('lifts everything that stands in the way, at once', async () => {
    const engine = await engineOf(POLICY);
    const { decision } = engine.decide('curl', [
      { kind: 'fs.write', path: 'docs/x' },
      { kind: 'net.connect', scheme: 'https', host: 'example.org', port: 443 },
      { kind: 'git', operation: 'push' },
    ]);
    assert.deepEqual(parse(decision.admit ?? ''), {
      tools: { rules: [{ tool: 'curl', decision: 'allow' }] },
      paths: { rules: [{ path: 'docs', write: 'allow' }] },
      network: { allowed_domains: ['example.org'] },
      git: { allow_push: true },
    });
  });

  it('names a private address as private at once, and none that is never connected to', async () => {
    const engine = await engineOf('version: 1\n');
    const admit = (host: string, port = 80) =>
      engine.decideEffect('t', { kind: 'net.connect', scheme: 'http', host, port }).admit;
    const named = (host: string, port?: number) => parse(admit(host, port) ?? '').network.allowed_domains[0];
    assert.equal(named('8.8.8.8'), '8.8.8.8');
    assert.equal(named('example.org', 8080), 'example.org:8080');
    for (const host of ['127.0.0.1', '10.1.2.3', '[::1]', '169.254.169.254', 'localhost', 'a.localhost'])
      assert.deepEqual(named(host), { domain: host, private: true });
    for (const host of ['0.0.0.0', '[::]', '224.0.0.1', '255.255.255.255'])
      assert.equal(admit(host), undefined, host);
  });

  it('names the program and its subcommand, or exactly the command', async () => {
    const engine = await engineOf('version: 1\n');
    const admit = (command: string) => parse(engine.decideEffect('t', { kind: 'exec', command }).admit ?? '');
    assert.deepEqual(admit('npm run build'), { shell_allow: ['^npm run(\\s|$)'] });
    // The first word after these is a file: others beside it are another command.
    assert.deepEqual(admit('rm dist'), { shell_allow: ['^rm dist$'] });
    assert.deepEqual(admit('cp a b'), { shell_allow: ['^cp a b$'] });
    assert.deepEqual(admit('ls'), { shell_allow: ['^ls$'] });
    assert.deepEqual(admit('python -c x'), { shell_allow: ['^python -c x$'] });
    assert.deepEqual(admit('cat a.txt'), { shell_allow: ['^cat a\\.txt$'] });
  });

  it('says in words what caps.subprocess asks for, and proposes an entry that grants it', async () => {
    const text = "version: 1\nshell_allow: ['^ls']\n";
    const any: Effect = { kind: 'exec', command: '*' };
    const { verdict, message, admit } = (await engineOf(text)).decideEffect('hub', any);
    assert.equal(verdict, 'deny');
    assert.match(message, /^Cannot start other programs: caps\.subprocess asks for it, and shell_allow /);
    assert.deepEqual(parse(admit ?? ''), { shell_allow: ['^<any program>$'] });
    const granted = await engineOf(await applyAdmit(text, admit ?? ''));
    assert.equal(granted.decideEffect('hub', any).verdict, 'allow');
    assert.equal(granted.decideEffect('t', { kind: 'exec', command: 'rm -rf x' }).verdict, 'deny');
    // As it was written before it had a name.
    const before = await engineOf("version: 1\nshell_allow: ['^ls', '^\\*$']\n");
    assert.equal(before.decideEffect('hub', any).verdict, 'allow');
  });

  it('is absent for what is protected, even beside something that could be lifted', async () => {
    const engine = await engineOf('version: 1\n');
    const effects: Effect[] = [
      { kind: 'git', operation: 'push' },
      { kind: 'fs.write', path: '.haft/x' },
    ];
    assert.equal(engine.decide('t', effects).decision.admit, undefined);
  });

  it('names no root that would hold the workspace', async () => {
    const engine = await engineOf('version: 1\n');
    const admit = (path: string) => engine.decideEffect('t', { kind: 'fs.read', path }).admit;
    assert.equal(admit('/home/user/x'), undefined);
    assert.equal(admit('/x'), undefined);
    assert.equal(admit('../x'), undefined);
    assert.equal(admit('../../x/y'), 'paths:\n  extra_roots:\n    - ../../x\n');
    assert.equal(admit('/home/user/other/x'), 'paths:\n  extra_roots:\n    - /home/user/other\n');
  });
});

describe('renderGrant', () => {
  it('writes YAML that reads back as the same, whatever the texts', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom(
        'yes',
        'null',
        '1',
        '1.0',
        '.5',
        '- a',
        'a: b',
        '#x',
        "it's",
        '**/x',
        '!t',
        '~',
        '',
        '.inf',
        '0x10',
        ' a ',
        'a\u2028b',
        '.',
        '..',
        '/',
      ),
    );
    fc.assert(
      fc.property(text, text, (path, host) => {
        const grant: Grant = {
          paths: { extra_roots: [path], rules: [{ path, read: 'allow' }] },
          network: { allowed_domains: [host] },
          git: { allow_push: true },
        };
        fc.pre(path.isWellFormed() && host.isWellFormed());
        assert.deepEqual(parse(renderGrant(grant)), grant);
      }),
    );
  });

  it('merges what is about the same rule', () => {
    const merged = mergeGrants([
      { paths: { rules: [{ path: 'a', read: 'allow' }] } },
      { paths: { rules: [{ path: 'b', read: 'allow' }] } },
      { paths: { rules: [{ path: 'a', write: 'allow' }], extra_roots: ['/x'] }, shell_allow: ['^a'] },
      { shell_allow: ['^a', { pattern: '^b', decision: 'allow' }], paths: { extra_roots: ['/x'] } },
    ]);
    assert.deepEqual(merged, {
      paths: {
        rules: [
          { path: 'a', read: 'allow', write: 'allow' },
          { path: 'b', read: 'allow' },
        ],
        extra_roots: ['/x'],
      },
      shell_allow: ['^a', { pattern: '^b', decision: 'allow' }],
    });
  });
});
