// Owns: which edits of a policy narrow it and which widen it, key by key, and that none called narrow lets more through.
// Refuses: what a session may ask for; narrow-policy.test.ts has that.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/support/properties.ts';
import type { Effect } from '../contract/effect.ts';
import type { PolicyFile, Verdict } from '../contract/policy.ts';
import { isStricter } from '../contract/policy-match.ts';
import { comparePolicies } from './compare-policies.ts';
import { createPolicyEngine } from './create-policy-engine.ts';
import { connect, exec, git, read, write } from './decisions-for-tests.ts';

const widensPolicy = (...files: Parameters<typeof comparePolicies>) =>
  comparePolicies(...files).some(({ widens }) => widens);

const OLD: PolicyFile = {
  version: 1,
  network: {
    allowed_domains: ['*.rust-lang.org', 'crates.io', { domain: 'x.rust-lang.org', decision: 'ask' }],
  },
  shell_allow: [
    '^cargo(\\s|$)',
    { pattern: '--force', decision: 'deny' },
    { pattern: 'push', decision: 'ask' },
  ],
  git: { allow_push: false, require_clean_tree_for_commit: true },
  ast: { validate_on_edit: true },
  validators: [{ rule: 'secrets.scan', enforcement: 'warning' }],
  tools: {
    rules: [
      { tool: 'curl', decision: 'ask' },
      { tool: 'fs_*', decision: 'ask', paths: ['a/**'] },
    ],
  },
  paths: { extra_roots: ['../data'], rules: [{ path: 'secrets', read: 'ask', write: 'deny' }] },
  budgets: { calls: 10 },
  limits: { timeout_ms: 1000 },
  approvals: { expire_ms: 1000 },
  undo: { max_bytes: 1000, keep: { days: 10 } },
  audit: { keep: { rows: 5000 } },
  packs: ['packs', { name: 'hub', mcp: { command: ['node', 'hub.mjs'] } }],
  runs: { backend: 'docker', images: ['debian', 'alpine'], limits: { cpus: 2 } },
};

const NARROWS: { readonly [name: string]: Partial<PolicyFile> } = {
  nothing: {},
  'more that is kept': {
    undo: { max_bytes: 1000, keep: { days: 11, bytes: 2 ** 40 } },
    audit: { keep: { days: 31, rows: 5001 } },
  },
  'what holds where nothing is said, in place of less': {
    undo: { max_bytes: 1000 },
    audit: {},
  },
  'fewer hosts, and one below what was granted': {
    network: { allowed_domains: ['doc.rust-lang.org', { domain: 'x.rust-lang.org', decision: 'deny' }] },
  },
  'fewer commands, one more denied': {
    shell_allow: [
      { pattern: '--force', decision: 'deny' },
      { pattern: 'push', decision: 'deny' },
      { pattern: 'rm', decision: 'deny' },
    ],
  },
  'a stricter and a further validator': {
    validators: [
      { rule: 'secrets.scan', enforcement: 'blocking' },
      { rule: 'fmt', enforcement: 'warning' },
    ],
  },
  'only some tools': {
    tools: { default: 'deny', rules: [...OLD.tools!.rules!, { tool: 'file_read', decision: 'allow' }] },
  },
  'a stricter path, no extra root': { paths: { rules: [{ path: 'secrets', read: 'deny', write: 'deny' }] } },
  'smaller numbers': {
    budgets: { calls: 5, bytes: 7 },
    limits: { timeout_ms: 1 },
    approvals: { expire_ms: 1 },
    runs: { backend: 'docker', images: ['alpine'], limits: { cpus: 1, processes: 9 } },
  },
  'one pack less, one disabled': { packs: [{ path: 'packs', enabled: false }] },
  'no pack that is a folder': { packs: [OLD.packs![1]!] },
  'no pack at all': { packs: [] },
  'other order, other spelling': {
    packs: [{ mcp: { command: ['node', 'hub.mjs'] }, name: 'hub' }, { path: 'packs' }],
    sandbox: 'required',
  },
};

const WIDENS: { readonly [name: string]: readonly [edit: Partial<PolicyFile>, keys: readonly string[]] } = {
  'another host': [
    { network: { allowed_domains: [...OLD.network!.allowed_domains!, 'evil.org'] } },
    ['network.allowed_domains'],
  ],
  'a host that may be private now': [
    {
      network: {
        allowed_domains: [...OLD.network!.allowed_domains!, { domain: 'crates.io', private: true }],
      },
    },
    ['network.allowed_domains'],
  ],
  'no question about a host': [
    { network: { allowed_domains: ['*.rust-lang.org'] } },
    ['network.allowed_domains'],
  ],
  'another pattern': [{ shell_allow: [...OLD.shell_allow!, '^cargo test'] }, ['shell_allow']],
  'a pattern that asks anywhere': [
    { shell_allow: [...OLD.shell_allow!.slice(1), { pattern: '^cargo(\\s|$)', decision: 'ask' }] },
    ['shell_allow'],
  ],
  'a pattern that no longer denies': [{ shell_allow: ['^cargo(\\s|$)'] }, ['shell_allow', 'shell_allow']],
  'switches off': [
    { git: { allow_push: true }, ast: {}, sandbox: 'optional', validators: [] },
    ['git.allow_push', 'git.require_clean_tree_for_commit', 'ast.validate_on_edit', 'validators', 'sandbox'],
  ],
  'a lowered validator': [
    { validators: [{ rule: 'secrets.scan', enforcement: 'suggestion' }] },
    ['validators'],
  ],
  'rules of tools gone': [{ tools: {} }, ['tools.rules', 'tools.rules']],
  'a rule with paths that asked about calls without any': [
    { tools: { rules: [OLD.tools!.rules![0]!, { tool: 'fs_*', decision: 'deny', paths: ['a/**'] }] } },
    ['tools.rules'],
  ],
  'a path that is no longer denied': [
    { paths: { rules: [{ path: 'secrets', read: 'ask', write: 'ask' }] } },
    ['paths.rules'],
  ],
  'a rule that no longer binds programs': [
    { paths: { ...OLD.paths, rules: [{ ...OLD.paths!.rules![0]!, programs: 'allow' }] } },
    ['paths.rules'],
  ],
  'another root': [{ paths: { ...OLD.paths, extra_roots: ['/'] } }, ['paths.extra_roots']],
  'larger numbers, and none': [
    { budgets: {}, limits: { timeout_ms: 1001 }, approvals: {}, undo: {} },
    ['budgets.calls', 'limits.timeout_ms', 'approvals.expire_ms', 'undo.max_bytes'],
  ],
  'less that is kept': [
    { undo: { max_bytes: 1000, keep: { days: 9, bytes: 1 } }, audit: { keep: { days: 29, rows: 4999 } } },
    ['undo.keep.days', 'undo.keep.bytes', 'audit.keep.days', 'audit.keep.rows'],
  ],
  'more than what holds where nothing is said': [
    { runs: { ...OLD.runs, limits: { cpus: 2, log_bytes: 99_999_999, processes: 4_194_304 } } },
    ['runs.limits.log_bytes', 'runs.limits.processes'],
  ],
  'another program': [
    { packs: ['packs', { name: 'hub', mcp: { command: ['node', 'evil.mjs'] } }] },
    ['packs'],
  ],
  'another place for runs': [
    { runs: { ...OLD.runs, backend: 'local', images: ['debian', 'alpine', 'x'] } },
    ['runs.backend', 'runs.images'],
  ],
};

describe('comparePolicies', () => {
  for (const [name, edit] of Object.entries(NARROWS)) {
    it(`says that this narrows: ${name}`, () => {
      assert.deepEqual(
        comparePolicies(OLD, { ...OLD, ...edit }).filter(({ widens }) => widens),
        [],
      );
    });
  }
  for (const [name, [edit, keys]] of Object.entries(WIDENS)) {
    it(`says that this widens: ${name}`, () => {
      const widening = comparePolicies(OLD, { ...OLD, ...edit }).filter(({ widens }) => widens);
      assert.deepEqual(
        widening.map(({ key }) => key),
        keys,
      );
    });
  }

  it('says that less of runs narrows, engines included that no run is sent to any more', () => {
    const runs = (before: PolicyFile['runs'], after?: PolicyFile['runs']) =>
      comparePolicies(
        { version: 1, ...(before ? { runs: before } : {}) },
        { version: 1, ...(after ? { runs: after } : {}) },
      )
        .filter(({ widens }) => widens)
        .map(({ key }) => key);
    const docker = { socket: '/run/docker.sock' };
    assert.deepEqual(runs({ docker }), []);
    assert.deepEqual(runs({ backends: ['docker'], images: ['debian'], docker, folder: '/data/runs' }), []);
    assert.deepEqual(runs({ backend: 'docker', backends: ['local'], docker, slurm: { max_jobs: 1 } }), []);
    assert.deepEqual(runs({ backend: 'docker', docker }, { backend: 'docker' }), ['runs.docker']);
    assert.deepEqual(runs({ backends: ['docker'] }, { backends: ['docker'], docker }), ['runs.docker']);
    assert.deepEqual(
      runs(
        { rules: [{ tool: 'a', backend: 'docker' }], docker },
        { rules: [{ tool: 'a', backend: 'docker' }] },
      ),
      ['runs.docker'],
    );
    assert.deepEqual(runs({ backend: 'docker', docker }), ['runs.backend']);
    assert.deepEqual(runs({ limits: { processes: 9 }, docker }), ['runs.limits.processes']);
    assert.deepEqual(runs(undefined, { folder: '/data/runs' }), ['runs.folder']);
  });

  it('finds no difference in examples, order and defaults that are written out', () => {
    assert.deepEqual(
      comparePolicies({ version: 1 }, { version: 1, sandbox: 'required', tools: { default: 'allow' } }),
      [],
    );
    assert.deepEqual(
      comparePolicies(
        { version: 1, shell_allow: ['^a', '^b'] },
        { version: 1, shell_allow: [{ pattern: '^b', examples: { allow: ['b'] } }, '^a'] },
      ),
      [],
    );
  });

  it('holds a number that is not there against the one that holds then', () => {
    const widens = (one: Partial<PolicyFile>, other: Partial<PolicyFile>) =>
      widensPolicy({ version: 1, ...one }, { version: 1, ...other });
    const edits: readonly (readonly [less: Partial<PolicyFile>, more: Partial<PolicyFile>])[] = [
      [{}, { approvals: { expire_ms: 900_001 } }],
      [{ approvals: { expire_ms: 899_999 } }, {}],
      [{ runs: {} }, { runs: { limits: { processes: 1025 } } }],
      [{ runs: { limits: { processes: 1023 } } }, { runs: {} }],
      [{ runs: {} }, { runs: { limits: { log_bytes: 16 * 1024 * 1024 + 1 } } }],
      [{ limits: { timeout_ms: 1 } }, {}],
      [{ budgets: { calls: 1 } }, {}],
    ];
    for (const [less, more] of edits)
      assert.deepEqual([widens(less, more), widens(more, less)], [true, false], JSON.stringify([less, more]));
  });

  it('takes a file that is gone for what holds without one', () => {
    assert.equal(
      widensPolicy({ version: 1, paths: { rules: [{ path: 'a', read: 'deny' }] } }, { version: 1 }),
      true,
    );
    assert.equal(widensPolicy({ version: 1, shell_allow: ['^a'] }, { version: 1 }), false);
  });

  it('never calls narrow what lets anything more through', async () => {
    let narrowing = 0;
    await fc.assert(
      fc.asyncProperty(policies(), policies(), fc.boolean(), async (first, second, related) => {
        // Two that have nothing in common are hardly ever narrower: most pairs share most sections.
        const after = related ? { ...first, ...oneOf(second) } : second;
        if (widensPolicy(first, after)) return;
        narrowing += 1;
        const engines = [engine(first), engine(after)] as const;
        for (const one of engines) await one.ready?.(EFFECTS);
        for (const tool of TOOLS)
          for (const effect of EFFECTS) {
            const [was, is] = engines.map((one) => one.decide(tool, [effect]).decision.verdict);
            assert.ok(!isStricter(was!, is!), `${tool} ${JSON.stringify(effect)}: ${was} became ${is}`);
          }
        for (const tool of TOOLS) {
          const [was, is] = engines.map((one) => one.decide(tool, []).decision.verdict);
          assert.ok(!isStricter(was!, is!), `${tool}: ${was} became ${is}`);
        }
      }),
      { numRuns: 1500 },
    );
    assert.ok(narrowing > 50, `${narrowing} pairs were narrower`);
  });
});

const engine = (file: PolicyFile) =>
  createPolicyEngine({
    loaded: { file, name: 'haft.yaml', lines: {}, sha256: '', resolved: undefined as never },
  });

const TOOLS = ['curl', 'fs_list', 'fs_copy'];
const EFFECTS: readonly Effect[] = [
  read('a'),
  read('a/b'),
  write('a/b'),
  write('.', true),
  write('a', true),
  read('/data/x'),
  write('/other/x'),
  exec('cargo test'),
  exec('rm cargo'),
  exec('git push --force'),
  connect('crates.io'),
  connect('a.crates.io'),
  connect('b.a.crates.io'),
  git('push'),
];

const VERDICTS = fc.constantFrom<Verdict>('allow', 'ask', 'deny');

function policies(): fc.Arbitrary<PolicyFile> {
  const few = <T>(one: fc.Arbitrary<T>) => fc.array(one, { maxLength: 3 });
  return fc.record(
    {
      version: fc.constant(1 as const),
      network: fc.record({
        allowed_domains: few(
          fc.record({
            domain: fc.constantFrom('crates.io', '*.crates.io', 'a.crates.io', '*.a.crates.io'),
            decision: VERDICTS,
          }),
        ),
      }),
      shell_allow: few(
        fc.record({
          pattern: fc.constantFrom('cargo', '^cargo', 'push', '--force', '^git'),
          decision: VERDICTS,
        }),
      ),
      git: fc.record({ allow_push: fc.boolean() }),
      tools: fc.record(
        {
          default: VERDICTS,
          rules: few(
            fc
              .record(
                {
                  tool: fc.constantFrom('curl', 'fs_*', 'fs_list', '*'),
                  decision: VERDICTS,
                  paths: few(fc.constantFrom('a', 'a/**', '**')),
                },
                { requiredKeys: ['tool', 'decision'] },
              )
              .map((rule) =>
                rule.paths?.length === 0 ? { tool: rule.tool, decision: rule.decision } : rule,
              ),
          ),
        },
        { requiredKeys: [] },
      ),
      paths: fc.record(
        {
          extra_roots: few(fc.constantFrom('/data', '/other', '/')),
          rules: few(
            fc.record(
              { path: fc.constantFrom('a', 'a/**', '**/b', '/data/**'), read: VERDICTS, write: VERDICTS },
              { requiredKeys: ['path'] },
            ),
          ),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['version'] },
  ) as fc.Arbitrary<PolicyFile>;
}

/** One section of it. */
function oneOf({ version: _, ...sections }: PolicyFile): Partial<PolicyFile> {
  const [first] = Object.entries(sections);
  return first ? Object.fromEntries([first]) : {};
}
