// Owns: the proof that the examples run, and that the walks of CONTRIBUTING.md lead where they say.
// Refuses: examples that only compile.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
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
    for (const part of ['src', 'test/architecture.test.ts', 'package.json']) {
      cpSync(join(ROOT, part), inCopy(part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), inCopy('node_modules'));
    for (const { from, name, to, list, edits } of WALKS) {
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

  it('lead to a rule that haft.yaml can make blocking', () => {
    const validators = 'validators:\n  - { rule: code.no.merge_markers, enforcement: blocking }\n';
    writeTrusted(inCopy('haft.yaml'), `version: 1\n${validators}`);
    const { stdout, said } = call('file_write', { path: 'merged.txt', content: '<<<<<<< HEAD\n' });
    const [error] = JSON.parse(stdout).errors;
    assert.equal(error?.reason, 'rule.violated', said);
    assert.match(error.message, /merged\.txt:1 a marker of an unfinished merge/);
  });

  const call = (tool: string, args: object) =>
    node(['src/bin/haft.ts', 'call', tool, JSON.stringify(args), '--workspace', copy], copy);
});

/** The example's text as it stands in that folder: only the way to the other files is shorter. */
function asIn(folder: string, file: string): string {
  const up = '../'.repeat(folder.split('/').length - 1);
  return readFileSync(join(ROOT, file), 'utf8')
    .replaceAll(`../../${folder}/`, './')
    .replaceAll('../../src/', up);
}
