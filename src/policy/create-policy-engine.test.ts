// Owns: what each kind of effect is decided to, and by which rule, under policies written as people write them.
// Refuses: paths, which sections/paths.test.ts has, and what admits a denied call, which admit.test.ts has.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engineFrom, policyFrom } from '../../test/support/policy-from-text.ts';
import type { Effect } from '../contract/effect.ts';
import type { BackendName, Fence } from '../contract/policy.ts';
import { createPolicyEngine } from './create-policy-engine.ts';
import {
  connect,
  type DecisionCase,
  exec,
  git,
  itDecides,
  read,
  SECRETS,
  write,
} from './decisions-for-tests.ts';

const SHELL =
  "shell_allow:\n  - '^cargo(\\s|$)'\n  - {pattern: '^cargo publish', decision: ask}\n  - {pattern: '--token', decision: deny}";
const NETWORK =
  'network:\n  allowed_domains: [crates.io, "*.rust-lang.org", {domain: evil.rust-lang.org, decision: deny}, {domain: "localhost:8080", decision: ask}]';
const TOOLS =
  'tools:\n  default: deny\n  rules:\n    - {tool: "file_*", decision: allow}\n    - {tool: file_write, decision: ask, paths: [src]}\n    - {tool: fs_list, decision: allow, paths: ["docs/**"]}\n    - {tool: file_write, decision: deny, paths: [vendor/lib]}';

const RUNS = 'tools:\n  rules:\n    - {tool: steps, decision: deny}\n    - {tool: sort, decision: ask}';
const onBackend = (backend: BackendName): Effect => ({ kind: 'run.backend', backend });
const submits = (tool: string): Effect => ({ kind: 'run.submit', tool, backend: 'slurm' });

const CASES: readonly DecisionCase[] = [
  // Defaults
  { when: 'reading in the workspace', effect: read('src/a.ts'), is: 'allow default' },
  { when: 'writing in the workspace', effect: write('src/a.ts'), is: 'allow default' },
  { when: 'listing the workspace', effect: read('.', true), is: 'allow default' },
  { when: 'connecting', effect: connect('example.org'), is: 'deny network.allowed_domains http.not_allowed' },
  { when: 'running a command', effect: exec('ls'), is: 'deny shell_allow shell.not_allowed' },
  { when: 'pushing', effect: git('push'), is: 'deny git.allow_push' },
  { when: 'committing', effect: git('commit'), is: 'allow default' },
  { when: 'listing processes', effect: { kind: 'proc.list' } as Effect, is: 'allow default' },

  // Runs
  { when: 'looking at a run', effect: { kind: 'run.read', run: 'run_1' }, is: 'allow default' },
  { when: 'docker, by default', effect: onBackend('docker'), is: 'deny runs.backends' },
  { when: 'the sandbox of this machine', effect: onBackend('local'), is: 'allow runs.backends' },
  {
    when: 'slurm, where callers may choose it',
    policy: 'runs:\n  backends: [slurm]',
    effect: onBackend('slurm'),
    is: 'allow runs.backends',
  },
  {
    when: 'docker, where a rule sends some tool there',
    policy: 'runs:\n  rules: [{tool: sort, backend: docker}]',
    effect: onBackend('docker'),
    is: 'allow runs.backends',
  },
  {
    when: 'slurm, where all goes to docker',
    policy: 'runs:\n  backend: docker',
    effect: onBackend('slurm'),
    is: 'deny runs.backends',
  },
  { when: 'submitting a tool', effect: submits('other'), is: 'allow default' },
  {
    when: 'submitting a tool that a rule denies',
    policy: RUNS,
    effect: submits('steps'),
    is: 'deny tools.rules[0]',
    line: 4,
  },
  {
    when: 'submitting a tool that a rule asks for, which its own call does',
    policy: RUNS,
    effect: submits('sort'),
    is: 'allow default',
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
  itDecides(CASES);

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

const bare = ({ where: _where, admit: _admit, ...fence }: Fence) => fence;

describe('fences', () => {
  const DEPENDENCIES = `paths:
  rules:
    - {path: '**/.env', read: deny, write: deny}
    - {path: '**/.npmrc', write: ask}
    - {path: '**/node_modules', write: ask, programs: allow}`;

  it('asks about no program: what asks or denies stands in its way', async () => {
    const engine = await engineFrom("paths: {rules: [{path: a, write: ask}, {path: '**/.env', read: deny}]}");
    assert.deepEqual(engine.fences('shell_exec').map(bare), [
      { glob: 'a', read: false, write: true },
      { glob: '**/.env', read: true, write: false },
    ]);
    const [{ where, admit } = {}] = engine.fences('shell_exec');
    assert.equal(where, 'paths.rules[0] (haft.yaml line 2)');
    assert.equal(admit, 'paths:\n  rules:\n    - path: a\n      write: ask\n      programs: allow\n');
  });

  it('leaves programs alone where a rule binds tools only, for what that rule names', async () => {
    const engine = await engineFrom(DEPENDENCIES);
    assert.equal(engine.decideEffect('file_write', write('node_modules/a/b')).verdict, 'ask');
    assert.deepEqual(engine.fences('shell_exec').map(bare), [
      { glob: '**/.env', read: true, write: false, except: [] },
      { glob: '**/.env', read: false, write: true, except: ['**/node_modules'] },
      { glob: '**/.npmrc', read: false, write: true, except: ['**/node_modules'] },
    ]);
  });

  it('keeps what a session denies, whatever haft.yaml leaves to programs', async () => {
    const session = { version: 1, paths: { rules: [{ path: 'node_modules', write: 'deny' }] } } as const;
    const fences = (await engineFrom(DEPENDENCIES, [session])).fences('shell_exec');
    assert.deepEqual(fences.at(-1), {
      glob: 'node_modules',
      read: false,
      write: true,
      where: 'paths.rules[0] of the session',
    });
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
