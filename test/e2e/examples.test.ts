// Owns: the proof that the examples run, and that the walks of CONTRIBUTING.md lead where they say.
// Refuses: examples that only compile.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { writeTrusted } from '../../src/preset/trust/trust-for-tests.ts';

const ROOT = join(import.meta.dirname, '../..');

const node = (args: readonly string[], cwd: string) => {
  const { NODE_TEST_CONTEXT: _nested, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...args],
    { cwd, env, encoding: 'utf8' },
  );
  return { status, said: `${stdout}${stderr}`, stdout };
};

describe('examples', () => {
  for (const file of globSync('examples/*.ts', { cwd: ROOT }).sort()) {
    it(`${basename(file)} runs and asserts`, () => {
      const { status, said } = node([file], ROOT);
      assert.equal(status, 0, said);
      assert.match(readFileSync(join(ROOT, file), 'utf8'), /\bassert\./);
    });
  }
});

/** Two new files, and one line with its import in the list of the family. */
const WALKS = [
  {
    from: 'examples/builtin-tool',
    name: 'file-line-count',
    to: 'src/tools/fs',
    list: 'src/tools/index.ts',
    edits: [
      [
        'import { filePatch }',
        "import { fileLineCount } from './fs/file-line-count.ts';\nimport { filePatch }",
      ],
      ['  filePatch,\n', '  fileLineCount,\n  filePatch,\n'],
    ],
  },
  {
    from: 'examples/rule',
    name: 'code.no.merge_markers',
    to: 'src/rules',
    list: 'src/rules/index.ts',
    edits: [
      [
        '\nexport const',
        "import { rule as mergeMarkers } from './code.no.merge_markers.ts';\n\nexport const",
      ],
      ['Object.freeze([', 'Object.freeze([mergeMarkers,'],
    ],
  },
  {
    from: 'examples/capability',
    name: 'words',
    to: 'src/capabilities/words',
    list: 'src/preset/capabilities.ts',
    edits: [
      [
        'import type { ArtifactStore }',
        "import { words } from '../capabilities/words/words.ts';\nimport type { ArtifactStore }",
      ],
      ['  ];\n', '    words,\n  ];\n'],
    ],
  },
  {
    from: 'examples/backend',
    name: 'bare',
    to: 'src/backends/bare',
    list: 'src/backends/index.ts',
    edits: [
      ['import { docker }', "import { bare } from './bare/bare.ts';\nimport { docker }"],
      ['Object.freeze([', 'Object.freeze([bare, '],
    ],
  },
  {
    from: 'examples/policy-section',
    name: 'devices',
    to: 'src/policy/sections',
    list: 'src/policy/sections/index.ts',
    edits: [
      ['import { git }', "import { devices } from './devices.ts';\nimport { git }"],
      ['  git,\n', '  devices,\n  git,\n'],
    ],
  },
  {
    from: 'examples/adapter',
    name: 'canned',
    to: 'src/adapters/canned',
    list: 'src/preset/packs/sources/index.ts',
    edits: [
      [
        'Object.freeze([',
        "Object.freeze([serverSource('canned', async () => (await import('../../../adapters/canned/canned.ts')).createCannedAdapter),",
      ],
    ],
  },
  {
    from: 'examples/pack-source',
    name: 'notes',
    to: 'src/preset/packs/sources',
    list: 'src/preset/packs/sources/index.ts',
    edits: [
      ['import { serverSource }', "import { notes } from './notes.ts';\nimport { serverSource }"],
      ['Object.freeze([', 'Object.freeze([notes,'],
    ],
  },
  {
    from: 'examples/operation',
    name: 'audit-summary',
    to: 'src/operations',
    list: 'src/operations/index.ts',
    edits: [
      [
        "  'audit.list': op(",
        "  'audit.summary': op('Count rows', async () => (await import('./audit-summary.ts')).auditSummary),\n  'audit.list': op(",
      ],
    ],
  },
] as const;

describe('the walks of CONTRIBUTING.md', () => {
  const guide = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const copy = mkdtempSync(join(tmpdir(), 'haft-walk-'));
  const inCopy = (path: string) => join(copy, path);

  before(() => {
    for (const part of ['src', 'scripts', 'test/support', 'test/architecture.test.ts', 'package.json']) {
      cpSync(join(ROOT, part), inCopy(part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), inCopy('node_modules'));
    for (const { from, name, to, list, edits } of WALKS) {
      mkdirSync(inCopy(to), { recursive: true });
      for (const file of [`${name}.ts`, `${name}.test.ts`]) {
        writeFileSync(inCopy(`${to}/${file}`), asIn(to, `${from}/${file}`));
      }
      let text = readFileSync(inCopy(list), 'utf8');
      for (const [at, becomes] of edits) {
        assert.ok(text.includes(at), `${list} no longer has ${JSON.stringify(at)}`);
        text = text.replace(at, becomes);
      }
      writeFileSync(inCopy(list), text);
    }
  });
  after(() => rmSync(copy, { recursive: true }));

  for (const { from, name, to } of WALKS) {
    it(`show ${name} as it is tried here`, () => {
      const text = asIn(to, `${from}/${name}.ts`);
      assert.ok(guide.includes(text), `CONTRIBUTING.md shows another ${name}.ts than:\n${text}`);
    });

    it(`lead to ${name} that passes its own tests`, () => {
      const { status, said } = node(['--test', `${to}/${name}.test.ts`], copy);
      assert.equal(status, 0, said);
    });
  }

  it('keep what every builtin must be, and the architecture', () => {
    const only = '--test-name-pattern=sorted by id|file_line_count|source tree';
    const { status, said } = node(
      ['--test', only, 'src/tools/index.test.ts', 'test/architecture.test.ts'],
      copy,
    );
    assert.equal(status, 0, said);
    assert.match(said, /file_line_count/);
  });

  it('lead to a tool that the command line has', () => {
    const { stdout, said } = call('file_line_count', { path: 'package.json' });
    const lines = readFileSync(inCopy('package.json'), 'utf8').split('\n').length - 1;
    assert.deepEqual(JSON.parse(stdout).data, { lines }, said);
  });

  it('lead to a section that haft.yaml can have, and that is told to whoever trusts it', () => {
    writeFileSync(inCopy('haft.yaml'), 'version: 1\ndevices: { allow: [gpu0] }\n');
    const policy = (...words: string[]) =>
      node(['src/bin/haft.ts', 'policy', ...words, '--workspace', copy], copy);
    assert.equal(policy('check').stdout, 'haft.yaml is fine\n');
    assert.match(policy('diff').stdout, /^\+ devices\.allow: "gpu0" \(grants more\)$/m);
    rmSync(inCopy('haft.yaml'));
  });

  it('lead to a rule that haft.yaml can make blocking', () => {
    const validators = 'validators:\n  - { rule: code.no.merge_markers, enforcement: blocking }\n';
    writeTrusted(inCopy('haft.yaml'), `version: 1\n${validators}`);
    const { stdout, said } = call('file_write', { path: 'merged.txt', content: '<<<<<<< HEAD\n' });
    const [error] = JSON.parse(stdout).errors;
    assert.equal(error?.reason, 'rule.violated', said);
    assert.match(error.message, /merged\.txt:1 a marker of an unfinished merge/);
  });

  it('lead to a capability that every tool has, and that follows every call', () => {
    writeFileSync(inCopy('use-words.ts'), USE_WORDS);
    mkdirSync(inCopy('empty'));
    const { status, said } = node(['use-words.ts', 'empty'], copy);
    assert.equal(status, 0, said);
  });

  it('lead to packs of an adapter and of a source that haft.yaml can name', () => {
    const packs = [
      { name: 'demo', canned: { tools: { hello: { answer: 'hi' } } } },
      { name: 'guide', notes: { file: 'GUIDE.md' } },
    ];
    writeFileSync(inCopy('GUIDE.md'), '## Set up\n\nnpm ci\n');
    writeTrusted(inCopy('haft.yaml'), JSON.stringify({ version: 1, packs }));
    for (const [tool, data] of [
      ['demo.hello', 'hi'],
      ['guide.set_up', { text: 'npm ci' }],
    ] as const) {
      const { stdout, said } = call(tool, {});
      assert.deepEqual(JSON.parse(stdout).data, data, said);
    }
  });

  it('lead to a backend that haft.yaml can name and set, and that runs go to', () => {
    mkdirSync(inCopy('pack'));
    const json = { name: 'words', type: 'module', haft: { toolpack: 'toolpack.ts' } };
    writeFileSync(inCopy('pack/package.json'), JSON.stringify(json));
    writeFileSync(inCopy('pack/toolpack.ts'), WORDS);
    const policy = (nice: number) =>
      writeTrusted(
        inCopy('haft.yaml'),
        `version: 1\npacks: [pack]\nruns: { backend: bare, bare: { nice: ${nice} } }\n`,
      );
    policy(99);
    const wrong = node(['src/bin/haft.ts', 'policy', 'check', '--workspace', copy], copy);
    assert.match(wrong.said, /runs\.bare\.nice/);
    policy(5);
    const { stdout, said } = call('niceness', {});
    assert.equal(JSON.parse(stdout).ok, true, said);
    const runs = node(['src/bin/haft.ts', 'runs', 'list', '--json', '--workspace', copy], copy);
    assert.match(runs.stdout, /"backend":"bare"/);
  });

  const call = (tool: string, args: object) =>
    node(['src/bin/haft.ts', 'call', tool, JSON.stringify(args), '--workspace', copy], copy);
});

const USE_WORDS = `
import assert from 'node:assert/strict';
import { createRuntime, defineBuiltin } from './src/index.ts';

const findWord = defineBuiltin<{ readonly word: string }, readonly string[]>({
  id: 'find_word',
  title: 'Find a word',
  description: 'Names the files that hold a word.',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  output: { type: 'array' },
  effects: () => [{ kind: 'fs.read', path: '.', tree: true }],
  run: ({ word }, ctx) => ctx.words.find(word),
});
const runtime = await createRuntime({ workspace: process.argv[2]!, tools: [findWord] });
const found = async () => (await runtime.call({ tool: 'find_word', args: { word: 'new' } })).data;
assert.deepEqual(await found(), []);
await runtime.call({ tool: 'file_write', args: { path: 'a.txt', content: 'new words' } });
assert.deepEqual(await found(), ['a.txt']);
await runtime.close();
`;

const WORDS = `import { defineTool, runPlan } from 'haft/toolpack';
const declaredOutputs = [{ role: 'nice', type: 'text/plain', label: 'Niceness', srcRelpath: 'out/nice' }];
export default defineTool({
  abiVersion: 'v1', toolName: 'niceness', contractVersion: 'v1', planKind: 'slurm', description: 'How nice it is.',
  input: { type: 'object', additionalProperties: false }, declaredOutputs, run: runPlan,
  canonicalize: async () => ({
    canonicalParams: {}, inputsToLink: [],
    plan: { kind: 'slurm', argv: ['sh', '-c', 'nice > out/nice'], io: { inputs: [], outputs: declaredOutputs } },
  }),
});
`;

/** The example's text as it stands in that folder: only the way to the other files is shorter. */
function asIn(folder: string, file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replaceAll(
    /(?<=')\.\.\/\.\.\/((?:src|scripts|test)\/[^']+)(?=')/g,
    (_, path: string) => relative(folder, path).replace(/^(?!\.)/, './'),
  );
}
