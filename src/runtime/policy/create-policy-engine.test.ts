// Owns: what each kind of effect is decided to, and by which rule, under policies written as people write them.
// Refuses: what admits a denied call; admit.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom, policyFrom, WORKSPACE } from '../../../test/support/policy-from-text.ts';
import type { Effect } from '../../contract/effect.ts';
import { createPolicyEngine } from './create-policy-engine.ts';

const read = (path: string, tree?: true): Effect => ({ kind: 'fs.read', path, ...(tree ? { tree } : {}) });
const write = (path: string, tree?: true): Effect => ({ kind: 'fs.write', path, ...(tree ? { tree } : {}) });
const exec = (command: string): Effect => ({ kind: 'exec', command });
const connect = (host: string, port = 443, scheme = 'https'): Effect => ({
  kind: 'net.connect',
  scheme,
  host,
  port,
});
const git = (operation: string): Effect => ({ kind: 'git', operation });

interface Case {
  readonly when: string;
  readonly policy?: string;
  readonly tool?: string;
  readonly effect: Effect;
  /** The verdict, the rule, and for a denial the reason where it is not `policy.denied`. */
  readonly is: string;
  readonly line?: number;
}

const SECRETS =
  'paths:\n  rules:\n    - {path: secrets, read: deny, write: deny}\n    - {path: "**/*.pem", write: deny}\n    - {path: "docs/**", write: ask}\n    - {path: docs, read: allow}';
const ROOTS =
  'paths:\n  extra_roots: [../shared, /opt/data]\n  rules:\n    - {path: "/opt/data/**", write: deny}\n    - {path: "**/.env", read: deny}\n    - {path: "opt/**", read: deny}';
const SHELL =
  "shell_allow:\n  - '^cargo(\\s|$)'\n  - {pattern: '^cargo publish', decision: ask}\n  - {pattern: '--token', decision: deny}";
const NETWORK =
  'network:\n  allowed_domains: [crates.io, "*.rust-lang.org", {domain: evil.rust-lang.org, decision: deny}, {domain: "localhost:8080", decision: ask}]';
const TOOLS =
  'tools:\n  default: deny\n  rules:\n    - {tool: "file_*", decision: allow}\n    - {tool: file_write, decision: ask, paths: [src]}\n    - {tool: fs_list, decision: allow, paths: ["docs/**"]}\n    - {tool: file_write, decision: deny, paths: [vendor/lib]}';

const CASES: readonly Case[] = [
  // Defaults
  { when: 'reading in the workspace', effect: read('src/a.ts'), is: 'allow default' },
  { when: 'writing in the workspace', effect: write('src/a.ts'), is: 'allow default' },
  { when: 'listing the workspace', effect: read('.', true), is: 'allow default' },
  { when: 'connecting', effect: connect('example.org'), is: 'deny network.allowed_domains http.not_allowed' },
  { when: 'running a command', effect: exec('ls'), is: 'deny shell_allow shell.not_allowed' },
  { when: 'pushing', effect: git('push'), is: 'deny git.allow_push' },
  { when: 'committing', effect: git('commit'), is: 'allow default' },
  { when: 'listing processes', effect: { kind: 'proc.list' } as Effect, is: 'allow default' },

  // Protected
  { when: 'reading the state', effect: read('.haft/haft.db'), is: 'deny protected:.haft path.protected' },
  { when: 'writing the state', effect: write('.haft'), is: 'deny protected:.haft path.protected' },
  { when: 'listing the state', effect: read('.haft', true), is: 'deny protected:.haft path.protected' },
  { when: 'reading what only begins alike', effect: read('.haftrc'), is: 'allow default' },
  { when: 'reading the policy', effect: read('haft.yaml'), is: 'allow default' },
  { when: 'writing the policy', effect: write('haft.yaml'), is: 'deny protected:haft.yaml path.protected' },
  {
    when: 'writing the lock file',
    effect: write('haft.lock'),
    is: 'deny protected:haft.lock path.protected',
  },
  { when: 'writing another haft.yaml', effect: write('sub/haft.yaml'), is: 'allow default' },
  { when: 'reading git', effect: read('.git/HEAD'), is: 'allow default' },
  { when: 'writing git', effect: write('.git/HEAD'), is: 'deny protected:.git path.protected' },
  {
    when: 'writing a hook of a nested repository',
    effect: write('a/b/.git/hooks/pre-commit'),
    is: 'deny protected:.git path.protected',
  },
  { when: 'writing .gitignore', effect: write('.gitignore'), is: 'allow default' },
  {
    when: 'writing a pack',
    policy: 'packs: [./packs/, {mcp: {}}]',
    effect: write('packs/a/b.tool.yaml'),
    is: 'deny protected:./packs/ path.protected',
  },
  { when: 'reading a pack', policy: 'packs: [packs]', effect: read('packs/a'), is: 'allow default' },
  {
    when: 'writing a pack outside',
    policy: 'packs: [../shared/pack]\npaths: {extra_roots: [../shared]}',
    effect: write('/home/user/shared/pack/x'),
    is: 'deny protected:../shared/pack path.protected',
  },
  {
    when: 'a path that is not normal',
    effect: read('src/../.haft/haft.db'),
    is: 'deny protected:.haft path.protected',
  },
  {
    when: 'a path with doubled slashes',
    effect: write('.//haft.yaml'),
    is: 'deny protected:haft.yaml path.protected',
  },
  {
    when: 'an absolute path in the workspace',
    effect: read(`${WORKSPACE}/.haft/x`),
    is: 'deny protected:.haft path.protected',
  },
  { when: 'the workspace itself by its absolute path', effect: read(WORKSPACE, true), is: 'allow default' },

  // Whole trees
  { when: 'deleting everything', effect: write('.', true), is: 'deny protected:.haft path.protected' },
  { when: 'deleting a folder', effect: write('build', true), is: 'allow default' },
  {
    when: 'deleting above a pack',
    policy: 'packs: [tools/packs]',
    effect: write('tools', true),
    is: 'deny protected:tools/packs path.protected',
  },
  {
    when: 'deleting above a denied path',
    policy: 'paths: {rules: [{path: src/keep/x, write: deny}]}',
    effect: write('src', true),
    is: 'deny paths.rules[0]',
  },
  {
    when: 'deleting beside a denied path',
    policy: 'paths: {rules: [{path: src/keep/x, write: deny}]}',
    effect: write('src/other', true),
    is: 'allow default',
  },
  {
    when: 'deleting where a rule could apply anywhere',
    policy: SECRETS,
    effect: write('build', true),
    is: 'allow default',
  },
  {
    when: 'deleting above what must be asked about',
    policy: 'paths: {rules: [{path: "**/*.lock", write: ask}]}',
    effect: write('build', true),
    is: 'ask paths.rules[0]',
  },
  { when: 'listing above a denied path', policy: SECRETS, effect: read('.', true), is: 'allow default' },
  {
    when: 'listing a denied path',
    policy: SECRETS,
    effect: read('secrets', true),
    is: 'deny paths.rules[0]',
  },

  // Path rules
  {
    when: 'reading below a denied folder',
    policy: SECRETS,
    effect: read('secrets/a/b'),
    is: 'deny paths.rules[0]',
    line: 4,
  },
  {
    when: 'writing what only writing is denied of',
    policy: SECRETS,
    effect: write('a/x.pem'),
    is: 'deny paths.rules[1]',
    line: 5,
  },
  { when: 'reading the same', policy: SECRETS, effect: read('a/x.pem'), is: 'allow default' },
  {
    when: 'writing what must be asked about',
    policy: SECRETS,
    effect: write('docs/a.md'),
    is: 'ask paths.rules[2] approval.pending',
  },
  {
    when: 'writing where deny and ask both match',
    policy: SECRETS,
    effect: write('docs/x.pem'),
    is: 'deny paths.rules[1]',
  },
  {
    when: 'reading where a rule allows',
    policy: SECRETS,
    effect: read('docs/a.md'),
    is: 'allow paths.rules[3]',
    line: 7,
  },

  // Extra roots
  {
    when: 'reading outside',
    effect: read('/etc/passwd'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  { when: 'climbing out', effect: read('../other/x'), is: 'deny paths.extra_roots path.outside_workspace' },
  {
    when: 'reading below an extra root',
    policy: ROOTS,
    effect: read('/home/user/shared/x'),
    is: 'allow paths.extra_roots[0]',
  },
  {
    when: 'reading beside an extra root',
    policy: ROOTS,
    effect: read('/home/user/shared2/x'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  {
    when: 'climbing out of an extra root',
    policy: ROOTS,
    effect: read('/opt/data/../secret'),
    is: 'deny paths.extra_roots path.outside_workspace',
  },
  {
    when: 'writing below an extra root that a rule denies',
    policy: ROOTS,
    effect: write('/opt/data/x'),
    is: 'deny paths.rules[0]',
  },
  {
    when: 'reading below an extra root what a rule denies everywhere',
    policy: ROOTS,
    effect: read('/opt/data/.env'),
    is: 'deny paths.rules[1]',
  },
  {
    when: 'a rule about the workspace below an extra root',
    policy: ROOTS,
    effect: read('/opt/data/x'),
    is: 'allow paths.extra_roots[1]',
  },
  {
    when: 'writing git below an extra root',
    policy: ROOTS,
    effect: write('/home/user/shared/.git/config'),
    is: 'deny protected:.git path.protected',
  },

  // Commands
  {
    when: 'a command that matches',
    policy: SHELL,
    effect: exec('cargo test'),
    is: 'allow shell_allow[0]',
    line: 3,
  },
  {
    when: 'a command that does not',
    policy: SHELL,
    effect: exec('cargo-evil'),
    is: 'deny shell_allow shell.not_allowed',
    line: 2,
  },
  {
    when: 'a command that must be asked about',
    policy: SHELL,
    effect: exec('cargo publish'),
    is: 'ask shell_allow[1]',
  },
  {
    when: 'a command that one entry denies',
    policy: SHELL,
    effect: exec('cargo publish --token x'),
    is: 'deny shell_allow[2]',
  },

  // Connections
  {
    when: 'a host on the list',
    policy: NETWORK,
    effect: connect('crates.io'),
    is: 'allow network.allowed_domains[0]',
  },
  {
    when: 'a host below one on the list',
    policy: NETWORK,
    effect: connect('static.rust-lang.org'),
    is: 'allow network.allowed_domains[1]',
  },
  {
    when: 'a host that an entry denies',
    policy: NETWORK,
    effect: connect('evil.rust-lang.org'),
    is: 'deny network.allowed_domains[2]',
  },
  {
    when: 'another port',
    policy: NETWORK,
    effect: connect('crates.io', 8443),
    is: 'deny network.allowed_domains http.not_allowed',
  },
  {
    when: 'a port that is named',
    policy: NETWORK,
    effect: connect('localhost', 8080, 'http'),
    is: 'ask network.allowed_domains[3]',
  },

  // Git
  {
    when: 'pushing where it is allowed',
    policy: 'git: {allow_push: true}',
    effect: git('push'),
    is: 'allow git.allow_push',
  },

  // Tools
  {
    when: 'a tool that no rule names',
    policy: TOOLS,
    tool: 'curl',
    effect: read('a'),
    is: 'deny tools.default',
    line: 3,
  },
  {
    when: 'a tool that a rule allows',
    policy: TOOLS,
    tool: 'file_read',
    effect: read('a'),
    is: 'allow tools.rules[0]',
  },
  {
    when: 'a tool that touches a path of a rule',
    policy: TOOLS,
    tool: 'file_write',
    effect: write('src/a'),
    is: 'ask tools.rules[1]',
  },
  {
    when: 'a tool that touches another path',
    policy: TOOLS,
    tool: 'file_write',
    effect: write('b'),
    is: 'allow tools.rules[0]',
  },
  {
    when: 'a tool that is allowed on some paths, there',
    policy: TOOLS,
    tool: 'fs_list',
    effect: read('docs', true),
    is: 'allow tools.rules[2]',
  },
  {
    when: 'a tool that is allowed on some paths, elsewhere',
    policy: TOOLS,
    tool: 'fs_list',
    effect: read('.', true),
    is: 'deny tools.default',
  },
  {
    when: 'a tool that writes a tree above a path of a rule',
    policy: TOOLS,
    tool: 'file_write',
    effect: write('vendor', true),
    is: 'deny tools.rules[3]',
  },
];

describe('createPolicyEngine decides', () => {
  for (const { when, policy = '', tool = 'some_tool', effect, is, line } of CASES) {
    it(`${when}: ${is}`, async () => {
      const engine = await engineFrom(policy);
      const decision = engine.decideEffect(tool, effect);
      const [verdict, rule, reason] = is.split(' ');
      // Where both allow, the effect is what a reader asks about; the tool is told apart by its own rule.
      const told = engine.decide(tool, [effect]);
      const decided = decision.rule === rule ? decision : told.decision;
      assert.deepEqual([decided.verdict, decided.rule], [verdict, rule], decided.message);
      assert.equal(told.decision.verdict, verdict);
      if (verdict === 'deny') assert.equal(decided.reason, reason ?? 'policy.denied');
      if (verdict === 'ask') assert.equal(decided.reason, 'approval.pending');
      if (line) assert.equal(decided.line, line);
      if (verdict !== 'allow') assert.match(decided.message, /^Cannot /);
    });
  }

  it('the strictest over a tool and all of its effects, and tells every decision', async () => {
    const engine = await engineFrom(`${SECRETS}\n${SHELL}`);
    const { decision, all } = engine.decide('t', [
      read('a'),
      write('docs/x'),
      exec('cargo publish'),
      read('secrets/k'),
    ]);
    assert.deepEqual([decision.verdict, decision.rule], ['deny', 'paths.rules[0]']);
    assert.deepEqual(
      all.map(({ rule }) => rule),
      ['tools.default', 'default', 'paths.rules[2]', 'shell_allow[1]', 'paths.rules[0]'],
    );
  });

  it('calls without effects by the rules for their tool alone', async () => {
    const engine = await engineFrom(TOOLS);
    assert.equal(engine.decide('curl', []).decision.verdict, 'deny');
    assert.equal(engine.decide('file_read', []).decision.verdict, 'allow');
    assert.equal(engine.decide('fs_list', []).decision.verdict, 'allow', 'it is allowed somewhere');
  });

  it('the same again from memory', async () => {
    const engine = await engineFrom(SECRETS);
    for (let round = 0; round < 3; round++) {
      assert.equal(engine.decideEffect('t', read('secrets/x')).verdict, 'deny');
      assert.equal(engine.decideEffect('t', write('x.pem')).verdict, 'deny');
      assert.equal(engine.decideEffect('t', read('x.pem')).verdict, 'allow');
      for (let at = 0; at < 5000; at++) engine.decideEffect('t', read(`many/${round}/${at}`));
    }
  });

  it('no command before its patterns are loaded', async () => {
    const engine = createPolicyEngine({ loaded: await policyFrom(`version: 1\n${SHELL}\n`) });
    assert.equal(engine.ready([read('a')]), undefined);
    assert.equal(engine.decideEffect('t', exec('cargo test')).verdict, 'deny');
    await engine.ready([exec('cargo test')]);
    assert.equal(engine.ready([exec('cargo test')]), undefined);
    assert.equal(engine.decideEffect('t', exec('cargo test')).verdict, 'allow');
  });
});

describe('a denial', () => {
  it('says what was tried, which rule decided, and where that is written', async () => {
    const engine = await engineFrom(SECRETS);
    const { message, line, effect } = engine.decideEffect('t', read('secrets/key'));
    assert.equal(message, 'Cannot read secrets/key: paths.rules[0] (haft.yaml line 4) says deny');
    assert.equal(line, 4);
    assert.deepEqual(effect, read('secrets/key'));
  });

  it('never shows where the workspace is, nor paths outside of it', async () => {
    const engine = await engineFrom(ROOTS);
    for (const path of [
      '/etc/passwd',
      '../x',
      `${WORKSPACE}/../y`,
      '/home/user/shared/.env',
      `${WORKSPACE}/.haft/x`,
      '/',
    ]) {
      const { message, admit = '' } = engine.decideEffect('t', read(path));
      assert.doesNotMatch(message, /home|etc|opt/, message);
      assert.ok(!admit.includes(WORKSPACE), admit);
    }
    assert.match(engine.decideEffect('t', read('/opt/data/.env')).message, /paths\.extra_roots\[1\]\/\.env/);
  });
});

describe('a session that narrows', () => {
  it('is decided beside the host: both must allow', async () => {
    const narrowing = {
      version: 1,
      tools: { default: 'deny', rules: [{ tool: 'file_read', decision: 'allow' }] },
      paths: { rules: [{ path: 'private', read: 'deny' }] },
      network: { allowed_domains: ['crates.io'] },
      shell_allow: ['^cargo test'],
      git: { allow_push: false },
    } as const;
    const engine = await engineFrom(`${NETWORK}\n${SHELL}\ngit: {allow_push: true}`, [narrowing]);
    const verdict = (tool: string, effect: Effect) => engine.decideEffect(tool, effect);
    assert.equal(verdict('file_read', read('a')).verdict, 'allow');
    assert.equal(verdict('file_write', write('a')).rule, 'session:tools.default');
    assert.equal(verdict('file_read', read('private/x')).rule, 'session:paths.rules[0]');
    assert.equal(verdict('file_read', connect('crates.io')).verdict, 'allow');
    assert.equal(
      verdict('file_read', connect('static.rust-lang.org')).rule,
      'session:network.allowed_domains',
    );
    assert.equal(verdict('file_read', exec('cargo test -q')).verdict, 'allow');
    assert.equal(verdict('file_read', exec('cargo build')).rule, 'session:shell_allow');
    assert.equal(verdict('file_read', exec('ls')).verdict, 'deny');
    assert.equal(verdict('file_read', git('push')).rule, 'session:git.allow_push');
    assert.equal(verdict('file_write', write('a')).admit, undefined, 'no line of haft.yaml lifts it');
  });

  it('says nothing about what it does not name', async () => {
    const engine = await engineFrom(`${NETWORK}\n${SHELL}\ngit: {allow_push: true}`, [{ version: 1 }]);
    for (const effect of [connect('crates.io'), exec('cargo test'), git('push'), write('a')]) {
      assert.equal(engine.decideEffect('t', effect).verdict, 'allow');
    }
  });

  it('lowers limits and budgets, and tightens switches', async () => {
    const host =
      'limits: {timeout_ms: 1000}\nbudgets: {calls: 10}\ngit: {allow_push: true}\nsandbox: optional\nvalidators: [{rule: secrets.scan, enforcement: warning}]';
    const engine = await engineFrom(host, [
      {
        version: 1,
        limits: { timeout_ms: 500, max_output_bytes: 10 },
        budgets: { calls: 20, bytes: 5 },
        git: { allow_push: false, require_clean_tree_for_commit: true },
        sandbox: 'required',
        validators: [{ rule: 'secrets.scan', enforcement: 'blocking' }],
      },
    ]);
    const { limits, budgets, git: switches, sandbox, validators } = engine.loaded.file;
    assert.deepEqual(limits, { timeout_ms: 500, max_output_bytes: 10 });
    assert.deepEqual(budgets, { calls: 10, bytes: 5 });
    assert.deepEqual(switches, { allow_push: false, require_clean_tree_for_commit: true });
    assert.equal(sandbox, 'required');
    assert.deepEqual(validators, [{ rule: 'secrets.scan', enforcement: 'blocking' }]);
  });
});
