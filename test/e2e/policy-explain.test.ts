// Owns: the proof that `policy explain` tells of every call what policy then decides, for random policies and calls of every tool.
// Refuses: what becomes of calls that policy allows; the tools' own tests have that.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { isFailure } from '../../src/contract/errors.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { Decision, LoadedPolicy, PolicyFile } from '../../src/contract/policy.ts';
import type { DefaultRuntime } from '../../src/preset/default.ts';
import { BUILTIN_TOOLS } from '../../src/tools/index.ts';
import fc from '../support/properties.ts';
import { withToolpacks } from './support/toolpack-workspace.ts';

const CASES = 1_000;

const FILES = ['a.txt', 'src/b.txt', 'docs/c.md', 'docs/deep/d.md', 'secrets/key', '.env', 'sub/.env'];
const PLACES = [
  ...FILES,
  '.',
  'src',
  'docs',
  'secrets',
  'new.txt',
  'src/new/e.txt',
  '.haft/haft.db',
  'haft.yaml',
  '.git/config',
  '../x',
  '/etc/hostname',
];
const path = fc.constantFrom(...PLACES);
const glob = fc.constantFrom(
  '**',
  'a.txt',
  'src',
  'docs/**',
  'docs/deep',
  '**/.env',
  'secrets',
  '*.txt',
  'new*',
  '/etc/**',
);
const HOSTS = ['localhost', 'localhost:9', '127.0.0.1', '127.0.0.1:9', '*.invalid'];
const verdict = fc.constantFrom('allow', 'ask', 'deny');
const runId = fc.constantFrom(`run_${'0'.repeat(64)}`, 'no-run', `run_${'1'.repeat(64)}`);
const artifact = fc.constantFrom(`sha256:${'0'.repeat(64)}`, `sha256:${'1'.repeat(64)}`);
const flag = fc.boolean();

const two = fc.record({ src: path, dst: path, overwrite: flag, create_dirs: flag, dry_run: flag });

const line = fc.record({
  cmd: fc.constantFrom(
    'true',
    'cat a.txt',
    'true && echo x',
    'echo x > new.txt',
    'cat < secrets/key',
    'rm -rf $(',
  ),
  allow_network: flag,
});

/** One line for each tool: the calls that are made of it. */
const CALLS: { readonly [tool: string]: fc.Arbitrary<JsonObject> } = {
  artifact_get: fc.record({ artifact }),
  artifact_import: fc.oneof(fc.record({ path }), fc.constant({ content: 'x' })),
  artifact_list: fc.constant({}),
  artifact_preview: fc.record({ artifact }),
  curl: fc.record({
    url: fc.constantFrom(
      ...['localhost:9', '127.0.0.1:9', 'x.invalid'].flatMap((h) => [`http://${h}/`, `https://${h}/`]),
    ),
    method: fc.constantFrom('GET', 'POST'),
  }),
  docker_job_get: fc.record({ run_id: runId }),
  file_patch: fc.record({
    path,
    unified_diff: fc.constant('--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n'),
    dry_run: flag,
  }),
  file_read: fc.record({ path }),
  file_write: fc.record({ path, content: fc.constant('x'), create_dirs: flag, dry_run: flag }),
  fs_copy: two,
  fs_delete: fc.record({ path, recursive: flag, dry_run: flag }),
  fs_list: fc.oneof(fc.constant({}), fc.record({ glob })),
  fs_move: two,
  grep: fc.record({ pattern: fc.constant('x'), glob }),
  proc_list: fc.constant({ limit: 1 }),
  shell_exec: line,
  shell_list: fc.constant({}),
  shell_read: fc.record({ shell_id: fc.constant('shell_0') }),
  shell_signal: fc.record({ shell_id: fc.constant('shell_0') }),
  shell_start: line,
  shell_write: fc.record({ shell_id: fc.constant('shell_0'), input: fc.constant('x') }),
  slurm_job_cancel: fc.record({ run_id: runId }),
  slurm_job_collect: fc.record({ run_id: runId }),
  slurm_job_get: fc.record({ run_id: runId }),
  slurm_submit: fc.record({ tool: fc.constantFrom('word_count', 'no_such_tool'), args: fc.constant({}) }),
  undo: fc.record({ call_id: fc.constant('call_00000000000000000000') }),
  word_count: fc.constant({ text: 'one two' }),
};

const TOOLS = Object.keys(CALLS);
const toolGlob = fc.constantFrom('*', 'file_*', 'fs_*', 'shell_exec', ...TOOLS);
const some = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 3 });
const maybe = <T extends object>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 2 });

/** One line for each section that decides something. */
const policy = fc.record({
  network: maybe(
    fc.record({
      allowed_domains: some(
        fc.record({ domain: fc.constantFrom(...HOSTS), decision: verdict, private: flag }),
      ),
    }),
  ),
  shell_allow: maybe(
    some(fc.record({ pattern: fc.constantFrom('^true$', '^cat', 'echo', '.*', 'txt'), decision: verdict })),
  ),
  tools: maybe(
    fc.record({
      default: fc.constantFrom('allow', 'allow', 'ask', 'deny'),
      rules: some(
        fc.record({
          tool: toolGlob,
          decision: verdict,
          paths: fc.option(fc.array(glob, { minLength: 1, maxLength: 2 }), { nil: undefined }),
        }),
      ),
    }),
  ),
  paths: maybe(
    fc.record({
      rules: some(
        fc.record({ path: glob, read: verdict, write: verdict, programs: fc.constantFrom('allow', 'deny') }),
      ),
    }),
  ),
  runs: maybe(
    fc.record({
      backend: fc.constantFrom('local', 'docker'),
      backends: fc.subarray(['local', 'docker', 'slurm']),
    }),
  ),
  limits: maybe(fc.record({ max_input_bytes: fc.constantFrom(30, 10_000, 10_000, 10_000) })),
});

const cases = fc
  .constantFrom(...TOOLS)
  .chain((tool) => fc.record({ tool: fc.constant(tool), args: CALLS[tool]!, policy }));

describe('policy explain', () => {
  it('has calls of every builtin tool, and of a toolpack', () => {
    assert.deepEqual(TOOLS, [...BUILTIN_TOOLS.map(({ id }) => id), 'word_count']);
  });

  it(`agrees with the call, for ${CASES} random policies and calls`, { timeout: 600_000 }, async () => {
    await withToolpacks(['word_count'], async (workspace) => {
      const runtime = await workspace.runtime();
      const { loaded } = runtime.policy.current;
      const seen = { allow: 0, ask: 0, deny: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(cases, async ({ tool, args, policy: sections }) => {
          for (const file of FILES) make(join(workspace.root, file));
          await runtime.policy.replace(withSections(loaded, sections as Partial<PolicyFile>));
          const told = await explained(runtime, tool, args);
          const { callId, errors } = await runtime.call({ tool, args });
          const row = (await runtime.audit.rows({ callId })).at(-1)!;
          const { decision, effects } = row;
          const [first] = errors;
          // It ended before policy was asked.
          if (decision.rule === 'input') assert.deepEqual(told, { refused: first?.reason });
          else assert.deepEqual(told, { ...said(decision, first), effects });
          // What lies in a tree is decided file by file, where the tree is walked.
          const isWhole = decision.verdict === 'allow' && !effects.some((one) => 'tree' in one);
          if (isWhole) assert.notEqual(first?.reason, 'policy.denied', first?.message);
          seen[decision.rule === 'input' ? 'refused' : decision.verdict]++;
        }),
        { numRuns: CASES },
      );
      for (const [outcome, times] of Object.entries(seen)) assert.ok(times > CASES / 50, outcome);
    });
  });
});

interface Told {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly admit?: unknown };
}

/** Of an allowed call what decided; of others also what the caller is told. What asks tells of the approval instead. */
function said(
  { verdict, rule }: Pick<Decision, 'verdict' | 'rule'>,
  { reason, message, details }: Told = {},
): object {
  if (verdict === 'allow') return { verdict, rule };
  return { verdict, rule, reason, admit: details?.admit, ...(verdict === 'deny' ? { message } : {}) };
}

async function explained(runtime: DefaultRuntime, tool: string, args: JsonObject): Promise<object> {
  try {
    const { decision, effects } = await runtime.policy.explain({ tool, args });
    return { ...said(decision, { ...decision, details: { admit: decision.admit } }), effects };
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown;
    return { refused: thrown.reason };
  }
}

const make = (file: string) => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'x\n');
};

const withSections = (loaded: LoadedPolicy, said: Partial<PolicyFile>): LoadedPolicy => ({
  ...loaded,
  file: {
    version: 1,
    ...(JSON.parse(JSON.stringify(said)) as object),
    ...(loaded.file.packs ? { packs: loaded.file.packs } : {}),
  },
});
