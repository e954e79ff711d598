import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeWorkspace, type Workspace } from '../../../test/e2e/support/workspace.ts';
import { createFsHandle } from '../../capabilities/fs/handle.ts';
import { createSearchCapability } from '../../capabilities/search/capability.ts';
import type { Effect } from '../../contract/effect.ts';
import type { JsonObject } from '../../contract/json.ts';
import { createSchemaCompiler } from '../../loader/schema/schema-compiler.ts';
import { createDefaultRuntime, type DefaultRuntime } from '../../preset/default.ts';
import { openObjectStore } from '../../stores/objects/open-object-store.ts';
import { createToolHarness, type ToolHarness } from '../../testing/tool-harness-for-tests.ts';
import { type GrepData, grep } from './grep.ts';

describe('grep', () => {
  const search = createSearchCapability({ files: createFsHandle });
  let harness: ToolHarness;
  before(async () => {
    harness = await createToolHarness({
      capabilities: { fs: createFsHandle, search: search.open },
      openObjects: (folder) => openObjectStore({ folder, process: 'test' }),
      schemas: createSchemaCompiler(),
    });
    harness.put('src/x.rs', 'fn a() {\n    panic!("x");\n}\n');
    harness.put('src/y.rs', '// Panic! at the start\n');
    harness.put('src/deep/z.ts', 'throw new Error("panic!");\n');
    harness.put('src/latin1.txt', Buffer.from('panic! caf\xe9\n', 'latin1'));
    harness.put('.env', 'panic!\n');
    symlinkSync('/etc', join(harness.root, 'outside'));
  });
  after(() => {
    search.close();
    harness.close();
  });

  it('answers the call of the specification', async () => {
    const args = { pattern: 'panic!', glob: 'src/**', case_sensitive: false, max_results: 1000 };
    const { data, warnings } = await harness.call(grep, args);
    assert.deepEqual(data, {
      matches: [
        { file: 'src/deep/z.ts', line: 1, col: 18, snippet: 'throw new Error("panic!");' },
        {
          file: 'src/latin1.txt',
          line: 1,
          col: 1,
          snippet: 'panic! caf\ufffd',
          snippet_b64: Buffer.from('panic! caf\xe9', 'latin1').toString('base64'),
        },
        { file: 'src/x.rs', line: 2, col: 5, snippet: '    panic!("x");' },
        { file: 'src/y.rs', line: 1, col: 4, snippet: '// Panic! at the start' },
      ],
      count: 4,
      truncated: false,
    });
    assert.deepEqual(warnings, []);
  });

  const TABLE: readonly (readonly [what: string, args: JsonObject, data: GrepData])[] = [
    [
      'upper and lower case apart unless told otherwise',
      { pattern: 'Panic' },
      {
        matches: [{ file: 'src/y.rs', line: 1, col: 4, snippet: '// Panic! at the start' }],
        count: 1,
        truncated: false,
      },
    ],
    [
      'which files match',
      { pattern: 'panic', mode: 'files', file_types: ['rust', 'ts'] },
      { files: ['src/deep/z.ts', 'src/x.rs'], count: 2, truncated: false },
    ],
    [
      'how often each matches',
      { pattern: '[{}]', mode: 'count', glob: '*/*.rs' },
      { counts: [{ file: 'src/x.rs', count: 2 }], count: 1, truncated: false },
    ],
    [
      'lines around',
      { pattern: 'panic', glob: 'src/x.rs', context: 1, context_after: 0 },
      {
        matches: [{ file: 'src/x.rs', line: 2, col: 5, snippet: '    panic!("x");', before: ['fn a() {'] }],
        count: 1,
        truncated: false,
      },
    ],
    [
      'matches over several lines',
      { pattern: '\\{\\n\\s+p', glob: 'src/x.rs', multiline: true },
      {
        matches: [{ file: 'src/x.rs', line: 1, col: 8, snippet: 'fn a() {\n    panic!("x");', end_line: 2 }],
        count: 1,
        truncated: false,
      },
    ],
    [
      'a part of a long line',
      { pattern: 'start', glob: 'src/y.rs', max_line_bytes: 16 },
      {
        matches: [{ file: 'src/y.rs', line: 1, col: 18, snippet: 'ic! at the start', snippet_col: 7 }],
        count: 1,
        truncated: false,
      },
    ],
    ['nothing', { pattern: 'nowhere' }, { matches: [], count: 0, truncated: false }],
  ];
  for (const [what, args, data] of TABLE) {
    it(`answers ${what}`, async () => assert.deepEqual((await harness.call(grep, args)).data, data));
  }

  it('says that an answer was truncated, and how to get more', async () => {
    const { data, warnings } = await harness.call(grep, { pattern: 'a', max_results: 1 });
    assert.deepEqual([data.count, data.truncated], [1, true]);
    assert.equal(warnings[0]?.reason, 'content.truncated');
  });

  it('leaves out what policy hides', async () => {
    const denies = (effect: Effect) => 'path' in effect && effect.path === 'src/x.rs';
    const { data } = await harness.call(grep, { pattern: 'panic', mode: 'files' }, { denies });
    assert.deepEqual(data.files, ['src/deep/z.ts', 'src/latin1.txt']);
  });

  const EFFECTS: readonly (readonly [glob: string, path: string])[] = [
    ['**', '.'],
    ['src/**/*.rs', 'src'],
    ['src/deep', 'src'],
    ['{src,docs}/*', '.'],
  ];
  for (const [glob, path] of EFFECTS) {
    it(`declares that ${glob} looks at ${path}`, async () => {
      const { effects } = await harness.call(grep, { pattern: 'x', glob });
      assert.deepEqual(effects, [{ kind: 'fs.read', path, tree: true }]);
    });
  }

  const REFUSED: readonly (readonly [what: string, args: JsonObject, reason: string])[] = [
    ['no pattern', {}, 'input.schema'],
    ['an empty pattern', { pattern: '' }, 'input.schema'],
    ['a pattern beyond measure', { pattern: 'a'.repeat(8193) }, 'input.schema'],
    ['a pattern that looks around', { pattern: '(?<=a)b' }, 'input.pattern'],
    ['an open group', { pattern: '(?P<' }, 'input.pattern'],
    ['a file type that there is not', { pattern: 'a', file_types: ['fortran'] }, 'input.schema'],
    ['a glob that climbs', { pattern: 'a', glob: 'src/../../*' }, 'input.glob'],
    ['a link that leaves', { pattern: 'a', glob: 'outside/*' }, 'path.outside_workspace'],
    ['results beyond measure', { pattern: 'a', max_results: 1e9 }, 'input.schema'],
  ];
  for (const [what, args, reason] of REFUSED) {
    it(`refuses ${what}`, async () => {
      const failure = await harness.refuse(grep, args);
      assert.equal(failure.reason, reason, failure.message);
    });
  }

  it('takes a long pattern and many matches in one line without taking long', async () => {
    harness.put('slow.txt', `${'a'.repeat(50_000)}b\n`);
    const { data } = await harness.call(grep, { pattern: '(a*)*(a|aa)+$|(a+)+c', glob: 'slow.txt' });
    assert.equal(data.count, 0);
    const long = await harness.call(grep, { pattern: `(${'x|'.repeat(4000)}a)b$`, glob: 'slow.txt' });
    assert.equal(long.data.count, 1);
  });
});

describe('grep under a policy', () => {
  let workspace: Workspace;
  let runtime: DefaultRuntime;
  before(async () => {
    workspace = makeWorkspace({
      'haft.yaml':
        'version: 1\npaths:\n  rules:\n    - { path: "secrets/**", read: deny }\n    - { path: "**/*.pem", read: deny }\n',
      'secrets/a.txt': 'needle\n',
      'src/key.pem': 'needle\n',
      'src/a.ts': 'needle\n',
    });
    runtime = await createDefaultRuntime({ workspace: workspace.root });
  });
  after(async () => {
    await runtime.close();
    workspace.remove();
  });

  const call = (args: JsonObject) => runtime.call({ tool: 'grep', args });

  it('finds only what rules let tools see', async () => {
    for (const mode of ['matches', 'files', 'count']) {
      const { ok, data } = await call({ pattern: 'needle', mode });
      assert.ok(ok);
      assert.ok(JSON.stringify(data).includes('src/a.ts'));
      assert.doesNotMatch(JSON.stringify(data), /secrets|pem/);
    }
  });

  it('is denied where all of what it asks for is, with the rule that says so', async () => {
    const { ok, errors } = await call({ pattern: 'needle', glob: 'secrets/**' });
    assert.equal(ok, false);
    assert.equal(errors[0]?.reason, 'policy.denied');
    assert.match(String(errors[0]?.details?.rule), /paths/);
  });

  it('never looks into the state folder', async () => {
    const { errors } = await call({ pattern: '.', glob: '.haft/**', include_hidden: true });
    assert.equal(errors[0]?.reason, 'path.protected');
    const { data } = await call({
      pattern: 'SQLite',
      include_hidden: true,
      include_ignored: true,
      mode: 'files',
    });
    assert.deepEqual((data as GrepData).files, []);
  });
});
