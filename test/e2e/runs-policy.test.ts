// Owns: which edits of haft.yaml change the run ids of toolpacks, and which tools' they change; what explain says of both.
// Refuses: engines; a run has one id on every backend.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createDefaultRuntime, type DefaultRuntime } from '../../src/preset/default.ts';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';
import { policyFrom } from '../support/policy-from-text.ts';
import { cli } from './support/cli.ts';

/** `named` asks what an image stands for; the others need none. `small` and `large` differ in what they ask for. */
type ToolName = 'small' | 'large' | 'named';
const TOOLS: readonly ToolName[] = ['small', 'large', 'named'];
const ASKS: { readonly [T in ToolName]: string } = {
  small: '{ cpus: 1, memoryBytes: 64 * 2 ** 20, wallMs: 60_000, outputBytes: 2 ** 20 }',
  large: '{ cpus: 4, memoryBytes: 4 * 2 ** 30, wallMs: 3_600_000, outputBytes: 2 ** 30 }',
  named: '{ cpus: 1, memoryBytes: 64 * 2 ** 20, wallMs: 60_000, outputBytes: 2 ** 20 }',
};

const toolText = (name: ToolName): string => `defineTool({
  abiVersion: 'v1', toolName: '${name}', contractVersion: 'v1', planKind: '${name === 'named' ? 'docker' : 'slurm'}',
  description: 'Writes a word.', input: { type: 'object', additionalProperties: false }, declaredOutputs: OUTPUTS,
  async canonicalize(_, ctx) {
    const program = { argv: ['sh', '-c', 'echo word > out/word'], resources: ${ASKS[name]} };
    return { canonicalParams: {}, inputsToLink: [], plan: ${
      name === 'named'
        ? "{ kind: 'docker', ...program, image: await ctx.images.pin('demo:1'), inputs: [] }"
        : "{ kind: 'slurm', ...program, io: { inputs: [], outputs: OUTPUTS } }"
    } };
  },
  run: runPlan,
})`;

const MODULE = `import { defineTool, runPlan } from 'haft/toolpack';
const OUTPUTS = [{ role: 'word', type: 'text/plain', label: 'A word', srcRelpath: 'out/word' }];
export default [${TOOLS.map(toolText).join(', ')}];
`;

const [FIRST, SECOND] = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`);
const pin = (image = '', more = '') => `{image: "${image}", name: "demo:1"${more}}`;
const BASE = `network: {allowed_domains: [a.org]}
shell_allow: ['^npm test']
paths: {rules: [{path: secrets, read: deny}]}
limits: {timeout_ms: 500000}
runs:
  images: [${pin(FIRST)}]
  limits: {cpus: 2, processes: 100}
`;

interface Edit {
  readonly what: string;
  readonly from: string;
  readonly to: string;
  /** The tools whose runs are others now, and what explain calls the reason. */
  readonly changes?: readonly ToolName[];
  readonly field?: string;
}

const LIMITS = 'cpus: 2, processes: 100';
const more = (text: string) => ({ from: 'limits: {timeout', to: `${text}\nlimits: {timeout` });

const UNRELATED: readonly Edit[] = [
  { what: 'a command', from: "['^npm test'", to: "['^npm test', '^make'" },
  { what: 'a command less', from: "'^npm test'", to: "'^npm t'" },
  { what: 'a question about a command', from: "'^npm test'", to: "{pattern: '^npm test', decision: ask}" },
  { what: 'a domain', from: '[a.org]', to: '[a.org, b.org]' },
  { what: 'no domain', from: '[a.org]', to: '[]' },
  { what: 'a rule about .env', from: 'rules: [', to: 'rules: [{path: "**/.env", read: deny, write: deny}, ' },
  { what: 'a question about a path', from: 'rules: [', to: 'rules: [{path: docs, write: ask}, ' },
  { what: 'a path that programs are free of', from: 'read: deny}', to: 'read: deny, programs: allow}' },
  { what: 'another root', from: 'paths: {', to: 'paths: {extra_roots: [/tmp], ' },
  { what: 'push', ...more('git: {allow_push: true}') },
  { what: 'formatting', ...more('ast: {format_on_save: true}') },
  { what: 'a validator', ...more('validators: [{rule: secrets.scan, enforcement: warning}]') },
  { what: 'a budget', ...more('budgets: {calls: 100000}') },
  { what: 'approvals', ...more('approvals: {expire_ms: 5000}') },
  { what: 'undo', ...more('undo: {max_bytes: 5000}') },
  { what: 'the sandbox', ...more('sandbox: optional') },
  { what: 'another tool denied', ...more('tools: {rules: [{tool: curl, decision: deny}]}') },
  { what: 'a tool granted by name', ...more('tools: {rules: [{tool: "*", decision: allow}]}') },
  { what: 'how long calls may take', from: 'timeout_ms: 500000', to: 'timeout_ms: 400000' },
  { what: 'how large arguments may be', from: 'timeout_ms', to: 'max_input_bytes: 50000, timeout_ms' },
  { what: 'how large answers may be', from: 'timeout_ms', to: 'max_output_bytes: 50000, timeout_ms' },
  { what: 'backends for callers', from: 'runs:\n', to: 'runs:\n  backends: [docker, slurm]\n' },
  { what: 'a backend for a tool', from: 'runs:\n', to: 'runs:\n  rules: [{tool: small, backend: local}]\n' },
  { what: 'a socket', from: 'runs:\n', to: 'runs:\n  docker: {socket: /run/other.sock}\n' },
  { what: 'partitions', from: 'runs:\n', to: 'runs:\n  slurm: {partitions: [long], accounts: [mine]}\n' },
  { what: 'an image that may run', from: 'images: [', to: 'images: ["more/*", ' },
  {
    what: 'an image for other tools',
    from: 'images: [',
    to: 'images: [{image: "x/*", tools: ["other_*"]}, ',
  },
  { what: 'a name for another image', from: 'images: [', to: `images: [{image: "${SECOND}", name: "o:1"}, ` },
  { what: 'a limit that nobody reaches', from: LIMITS, to: `${LIMITS}, memory_bytes: 8589934592` },
  { what: 'how much may be printed', from: LIMITS, to: `${LIMITS}, log_bytes: 1000000` },
];

const ALL = TOOLS;
const RELATED: readonly Edit[] = [
  {
    what: 'fewer processors',
    from: 'cpus: 2',
    to: 'cpus: 1',
    changes: ['large'],
    field: 'policy runs.limits.cpus',
  },
  {
    what: 'part of a processor',
    from: 'cpus: 2',
    to: 'cpus: 0.5',
    changes: ALL,
    field: 'policy runs.limits.cpus',
  },
  {
    what: 'three processors',
    from: 'cpus: 2',
    to: 'cpus: 3',
    changes: ['large'],
    field: 'policy runs.limits.cpus',
  },
  {
    what: 'enough processors',
    from: 'cpus: 2',
    to: 'cpus: 4',
    changes: ['large'],
    field: 'policy runs.limits.cpus',
  },
  {
    what: 'no limit of processors',
    from: 'cpus: 2, ',
    to: '',
    changes: ['large'],
    field: 'policy runs.limits.cpus',
  },
  ...(
    [
      ['memory_bytes', 2 ** 30, ['large']],
      ['memory_bytes', 2 ** 31, ['large']],
      ['memory_bytes', 64 * 2 ** 20, ['large']],
      ['memory_bytes', 32 * 2 ** 20, ALL],
      ['wall_ms', 3_599_999, ['large']],
      ['wall_ms', 60_000, ['large']],
      ['wall_ms', 59_999, ALL],
      ['output_bytes', 2 ** 29, ['large']],
      ['output_bytes', 2 ** 20, ['large']],
      ['output_bytes', 2 ** 20 - 1, ALL],
    ] as const
  ).map(([key, amount, changes]) => ({
    what: `${key} of ${amount}`,
    from: LIMITS,
    to: `${LIMITS}, ${key}: ${amount}`,
    changes,
    field: `policy runs.limits.${key}`,
  })),
  {
    what: 'fewer processes',
    from: 's: 100',
    to: 's: 99',
    changes: ALL,
    field: 'policy runs.limits.processes',
  },
  {
    what: 'more processes',
    from: 's: 100',
    to: 's: 200',
    changes: ALL,
    field: 'policy runs.limits.processes',
  },
  {
    what: 'usual processes',
    from: ', processes: 100',
    to: '',
    changes: ALL,
    field: 'policy runs.limits.processes',
  },
  { what: 'what a name stands for', from: pin(FIRST), to: pin(SECOND), changes: ['named'], field: 'image' },
  {
    what: 'what it stands for in that tool alone',
    from: pin(FIRST),
    to: `${pin(SECOND, ', tools: [named]')}, ${pin(FIRST)}`,
    changes: ['named'],
    field: 'image',
  },
];

describe('run ids of toolpacks and edits of haft.yaml', () => {
  let root: string;
  let runtime: DefaultRuntime;
  let base: ReadonlyMap<ToolName, string>;
  before(async () => {
    root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-runs-policy-')));
    mkdirSync(join(root, 'words'));
    writeFileSync(join(root, 'words/package.json'), '{"type":"module","haft":{"toolpack":"toolpack.ts"}}');
    writeFileSync(join(root, 'words/toolpack.ts'), MODULE);
    writeTrusted(join(root, 'haft.yaml'), `version: 1\npacks: [words]\n${BASE}`);
    runtime = await createDefaultRuntime({ workspace: root });
    base = await idsUnder(BASE);
  });
  after(async () => {
    await runtime?.close();
    rmSync(root, { recursive: true, force: true });
  });

  const idsUnder = async (text: string): Promise<ReadonlyMap<ToolName, string>> => {
    const loaded = await policyFrom(`version: 1\npacks: [words]\n${text}`);
    const resolved = { workspace: root, extraRoots: [], packs: [join(root, 'words')] };
    await runtime.policy.replace({ ...loaded, resolved });
    const ids = new Map<ToolName, string>();
    for (const tool of TOOLS) {
      const { ok, errors, runId } = await runtime.call({ tool, args: {} });
      assert.ok(ok, JSON.stringify(errors));
      ids.set(tool, runId as string);
    }
    return ids;
  };

  for (const { what, from, to, changes = [], field } of [...UNRELATED, ...RELATED])
    it(`${changes.length === 0 ? 'stay' : `change (${changes.join(', ')})`} with ${what}`, async () => {
      const text = BASE.replace(from, to);
      assert.notEqual(text, BASE, 'the edit changes the text');
      const ids = await idsUnder(text);
      assert.deepEqual(
        TOOLS.filter((tool) => ids.get(tool) !== base.get(tool)),
        changes,
      );
      for (const tool of changes) {
        const { differences } = await runtime.runs.explain(base.get(tool)!, ids.get(tool));
        assert.deepEqual(
          differences.map((one) => one.field),
          [field],
        );
      }
    });

  it('are explained with the values of both policies', async () => {
    const ids = await idsUnder(BASE.replace('cpus: 2', 'cpus: 3'));
    const words = ['runs', 'explain', base.get('large')!, ids.get('large')!];
    const { stdout } = await cli(root, ...words);
    assert.match(
      stdout,
      /differ in one field:\n {2}policy runs\.limits\.cpus: 2 in the first, 3 in the second\n/,
    );
  });

  it('hold whatever a session narrows that no run notices', async () => {
    await idsUnder(BASE);
    const { id } = await runtime.sessions.open({
      registry: {
        version: 1,
        network: { allowed_domains: [] },
        paths: { rules: [{ path: 'x', read: 'deny' }] },
      },
    });
    const { runId, replayed } = await runtime.call({ tool: 'small', args: {}, sessionId: id });
    assert.deepEqual([runId, replayed], [base.get('small'), true]);
  });

  it('do not let an answer through that is over a limit set later', async () => {
    await idsUnder(BASE);
    const text = BASE.replace('timeout_ms', 'max_output_bytes: 20, timeout_ms');
    await runtime.policy.replace(await policyFrom(`version: 1\npacks: [words]\n${text}`));
    const { errors } = await runtime.call({ tool: 'small', args: {} });
    assert.equal(errors[0]?.reason, 'output.too_large');
  });
});

describe('haft policy explain of a toolpack', () => {
  const RUNS = `runs: {backend: docker, images: [${pin(FIRST, ', tools: [small]')}`;
  const CASES: readonly [what: string, tool: ToolName, policy: string, rule?: string][] = [
    [
      'an image that no line admits',
      'named',
      `${RUNS}, {image: "${SECOND}", name: "demo:1", tools: [x]}]}`,
      'runs.images',
    ],
    ['a backend that is not granted', 'small', 'runs: {backend: docker}', 'runs.backends'],
    [
      'a backend that a rule takes away',
      'small',
      'runs: {rules: [{tool: small, backend: docker, backends: []}]}',
      'runs.rules[0]',
    ],
    [
      'a tool that a rule denies',
      'small',
      'tools: {rules: [{tool: small, decision: deny}]}',
      'tools.rules[0]',
    ],
    ['nothing in the way', 'small', 'runs: {backend: local}'],
  ];

  for (const [what, tool, policy, rule] of CASES)
    it(`says what the call says, with ${what}`, async () => {
      const root = realpathSync.native(mkdtempSync(join(tmpdir(), 'haft-explain-')));
      mkdirSync(join(root, 'words'));
      writeFileSync(join(root, 'words/package.json'), '{"type":"module","haft":{"toolpack":"toolpack.ts"}}');
      const image = `demo@${FIRST}`;
      writeFileSync(
        join(root, 'words/toolpack.ts'),
        MODULE.replace("await ctx.images.pin('demo:1')", JSON.stringify(image)),
      );
      writeTrusted(join(root, 'haft.yaml'), `version: 1\npacks: [words]\n${policy}\n`);
      const runtime = await createDefaultRuntime({ workspace: root });
      try {
        const { decision } = await runtime.policy.explain({ tool, args: {} });
        const { ok, errors } = await runtime.call({ tool, args: {} });
        assert.equal(ok, rule === undefined, JSON.stringify(errors));
        if (rule === undefined) return assert.equal(decision.verdict, 'allow');
        assert.deepEqual([decision.verdict, decision.rule], ['deny', rule]);
        const [{ message, details }] = errors as unknown as [
          { message: string; details: { rule: string; admit?: string } },
        ];
        assert.deepEqual([decision.message, decision.admit], [message, details.admit]);
        const { stdout } = await cli(root, 'policy', 'explain', tool);
        assert.ok(stdout.includes(`deny: ${message}`), stdout);
      } finally {
        await runtime.close();
        rmSync(root, { recursive: true, force: true });
      }
    });
});
