// Owns: random policies, and random calls of every builtin, a toolpack and a tool that needs a secret, over a tree with links in it.
// Refuses: to make them; test/e2e/policy-explain.test.ts does.
import type { JsonObject } from '../../../src/contract/json.ts';
import fc from '../../support/properties.ts';
import { fakeDigest } from './toolpack-workspace.ts';

/** What every image is. */
export const IMAGE = fakeDigest('image');

/** A tool of a pack that lacks its secret. */
export const KEYED = `id: keyed.get
name: Keyed
description: Needs a secret that nobody has set.
version: 1.0.0
deterministic: false
timeoutMs: 1000
limits: { maxInputBytes: 1000, maxOutputBytes: 1000 }
inputSchema: { type: object, additionalProperties: false }
outputSchema: { type: object }
execution: { kind: http, method: GET, url: 'https://x.invalid/' }
caps: { network: [https] }
credentials: { hub: { headers: { Authorization: 'Bearer {{ token }}' } } }
`;

export const FILES = ['a.txt', 'src/b.txt', 'docs/c.md', 'docs/deep/d.md', 'secrets/key', '.env', 'sub/.env'];
/** By name: where they lead. `OUTSIDE` stands for a folder beside the workspace. */
export const LINKS = {
  to_a: 'a.txt',
  to_docs: 'docs',
  to_key: 'secrets/key',
  to_nothing: 'secrets/none',
  to_state: '.haft',
  to_policy: 'haft.yaml',
  circle: 'circle',
  out: 'OUTSIDE',
} as const;
const LINKED = [
  ...Object.keys(LINKS),
  'to_docs/c.md',
  'to_docs/new/f.txt',
  'to_docs/deep',
  'to_state/haft.db',
  'out/there.txt',
  'out/none',
];

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
const path = fc.oneof(fc.constantFrom(...PLACES), fc.constantFrom(...LINKED));
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
const walked = fc.oneof(
  glob,
  fc.constantFrom('to_docs/**', 'to_docs', 'to_key', 'to_state/**', 'out/**', 'out', 'to_nothing/**'),
);
const HOSTS = ['localhost', 'localhost:9', '127.0.0.1', '127.0.0.1:9', '*.invalid'];
const verdict = fc.constantFrom('allow', 'ask', 'deny');
const runId = fc.constantFrom(`run_${'0'.repeat(64)}`, 'no-run', `run_${'1'.repeat(64)}`);
const artifact = fc.constantFrom(`sha256:${'0'.repeat(64)}`, `sha256:${'1'.repeat(64)}`);
const flag = fc.boolean();

const two = fc.record({ src: path, dst: path, overwrite: flag, create_dirs: flag, dry_run: flag });

const shellId = fc.constantFrom('shell_0', `shell_${'0'.repeat(20)}`);
const shell = fc.record({
  cmd: fc.constantFrom(
    'true',
    'cat a.txt',
    'true && echo x',
    'echo x > new.txt',
    'cat < secrets/key',
    'rm -rf $(',
  ),
  allow_network: flag,
  cwd: fc.oneof({ weight: 2, arbitrary: fc.constant('.') }, path),
  env: fc.constantFrom<JsonObject[]>({}, {}, { A: 'x' }, { LD_PRELOAD: 'x' }, { PATH: '/x' }, { 'a b': 'x' }),
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
  file_edit: fc.record({ path, old: fc.constant('x'), new: fc.constant('y'), dry_run: flag }),
  file_patch: fc.record({ path, unified_diff: fc.constant('@@ -1 +1 @@\n-x\n+y\n'), dry_run: flag }),
  file_read: fc.record({ path }),
  file_write: fc.record({ path, content: fc.constant('x'), create_dirs: flag, dry_run: flag }),
  fs_copy: two,
  fs_delete: fc.record({ path, recursive: flag, dry_run: flag }),
  fs_list: fc.oneof(fc.constant({}), fc.record({ glob: walked })),
  fs_move: two,
  grep: fc.record({ pattern: fc.constant('x'), glob: walked }),
  proc_list: fc.constant({ limit: 1 }),
  shell_exec: shell,
  shell_list: fc.constant({}),
  shell_read: fc.record({ shell_id: shellId }),
  shell_signal: fc.record({ shell_id: shellId, signal: fc.constantFrom('INT', 'KILL') }),
  shell_start: shell,
  shell_write: fc.record({ shell_id: shellId, input: fc.constantFrom('true\n', 'cat a.txt\n') }),
  slurm_job_cancel: fc.record({ run_id: runId }),
  slurm_job_collect: fc.record({ run_id: runId }),
  slurm_job_get: fc.record({ run_id: runId }),
  slurm_submit: fc.record({
    tool: fc.constantFrom('word_count', 'word_count', 'word_count', 'no_such_tool', 'file_read', 'keyed.get'),
    args: fc.constantFrom<JsonObject[]>({ text: 'one two' }, { text: 'one two' }, {}),
  }),
  undo: fc.record({ call_id: fc.constant('call_00000000000000000000') }),
  'keyed.get': fc.constant({}),
  word_count: fc.constant({ text: 'one two' }),
};

export const TOOLS = Object.keys(CALLS);
const toolGlob = fc.constantFrom('*', 'file_*', 'fs_*', 'shell_exec', ...TOOLS);
const some = <T>(of: fc.Arbitrary<T>) => fc.array(of, { maxLength: 3 });
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 2 });

/** One line for each section that decides something. */
const strict = fc.record({
  network: maybe(
    fc.record({
      allowed_domains: some(
        fc.record({ domain: fc.constantFrom(...HOSTS), decision: verdict, private: flag }),
      ),
    }),
  ),
  shell_allow: maybe(
    some(
      fc.record({
        pattern: fc.constantFrom('^true$', '^cat', '.*', '.*', 'txt'),
        decision: fc.constantFrom('allow', 'allow', 'ask', 'deny'),
      }),
    ),
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
      images: fc.constantFrom([], [IMAGE], [IMAGE]),
      slurm: fc.constant({ partitions: ['p'], container: { kind: 'docker' } }),
    }),
  ),
  limits: maybe(fc.record({ max_input_bytes: fc.constantFrom(30, 10_000, 10_000, 10_000) })),
});

/** One that grants much, so that calls come to what only they find out. */
const open = fc.record({
  shell_allow: fc.constant(['.*']),
  runs: fc.constant({
    backends: ['local', 'slurm'],
    images: [IMAGE],
    slurm: { container: { kind: 'docker' } },
  }),
  tools: maybe(
    fc.record({
      rules: some(
        fc.record({
          tool: fc.oneof(fc.constantFrom('word_count', 'slurm_submit'), fc.constantFrom(...TOOLS)),
          decision: fc.constantFrom('ask', 'deny'),
        }),
      ),
    }),
  ),
  paths: maybe(fc.record({ rules: some(fc.record({ path: glob, read: verdict, write: verdict })) })),
});
const policy = fc.oneof(strict, open);

/** `calls`: the budget of the session that makes it. `answer`: what a person says, where one is asked. */
export const cases = fc
  .constantFrom(...TOOLS, 'slurm_submit', 'slurm_submit', 'shell_exec', 'shell_exec')
  .chain((tool) =>
    fc.record({
      tool: fc.constant(tool),
      args: CALLS[tool]!,
      policy,
      calls: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 1),
      answer: fc.constantFrom('granted' as const, 'granted' as const, 'refused' as const, undefined),
    }),
  );
