import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from '../../../test/support/properties.ts';
import { locate } from './beneath.ts';
import { createFolderReader } from './folder-reader.ts';
import { compileIgnoreRules } from './ignore-rules.ts';
import { createIgnoreFiles } from './ignore-scope.ts';
import { createWantedEntries, walk } from './list.ts';
import { makeRoots, release } from './root.ts';

let ws: string;

const FILES = [
  ...[
    'a',
    'b',
    'ab',
    'abc',
    'a.log',
    'b.log',
    'a.b.log',
    '.log',
    '.hidden',
    'log',
    'a b',
    'a ',
    '#a',
    '!a',
    '[a]',
  ],
  ...['a*', 'é', 'éa', 'a-b', 'A', '0', 'x\\y', 'debug.log', 'debug0.log'],
  ...['d/a', 'd/b.log', 'd/.hidden', 'd/d/a', 'd/d/d/a.log', 'd/abc/x', 'd/log/y', 'd/é', 'd-e/a', 'd.log/a'],
  ...[
    'e/d/a',
    'e/d/b',
    'e/a/d/x',
    'e/a.log',
    'e/.d/a',
    'build/a',
    'build/d/a.log',
    'e/build/a',
    'abcd/ab',
    'abd/cd',
  ],
];

before(() => {
  ws = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'haft-ignore-')));
  git('init', '-q');
  for (const file of FILES) {
    fs.mkdirSync(path.dirname(path.join(ws, file)), { recursive: true });
    fs.writeFileSync(path.join(ws, file), '');
  }
});

after(() => fs.rmSync(ws, { recursive: true, force: true }));

function git(...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', ws, ...args], { encoding: 'utf8', env });
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** One for all: they must notice that a file changed. */
const ignoreFiles = createIgnoreFiles();
const readFolder = createFolderReader();
const wantedIn = createWantedEntries();
const yes = () => true;

async function ours(): Promise<string[]> {
  const start = locate(makeRoots(ws), '.', 'list');
  try {
    const all = { matcherIn: () => yes, mayContain: yes, visible: yes };
    const shape = { maxResults: 1e6, ignoreFiles, readFolder, wantedIn, includeDirs: false };
    return (await walk(start, '.', { ...all, ...shape })).files;
  } finally {
    release(start);
  }
}

async function agreesWithGit(rules: Record<string, string>): Promise<void> {
  for (const [file, text] of Object.entries(rules)) fs.writeFileSync(path.join(ws, file), text);
  const expected = git('ls-files', '-coz', '--exclude-standard').split('\0').slice(0, -1).sort(byBytes);
  try {
    assert.deepEqual(await ours(), expected, JSON.stringify(rules));
  } finally {
    for (const file of Object.keys(rules)) fs.rmSync(path.join(ws, file));
  }
}

describe('compileIgnoreRules', () => {
  const cases: [string, Record<string, string>][] = [
    ['plain names at any depth', { '.gitignore': 'a\nlog\n' }],
    ['extensions and their negation', { '.gitignore': '*.log\n!a.log\n' }],
    ['the last line that matches', { '.gitignore': '!a.log\n*.log\nb*\n!b.log\n' }],
    ['anchored names', { '.gitignore': '/a\n/d/b.log\nd/d/a\n' }],
    ['folders only', { '.gitignore': 'log/\na/\nbuild/\n' }],
    ['nothing below an ignored folder comes back', { '.gitignore': 'd/\n!d/a\n', 'd/.gitignore': '!*\n' }],
    ['contents of a folder come back one by one', { '.gitignore': 'd/*\n!d/d/\nd/d/*\n!d/d/a\n' }],
    ['** in front, between and behind', { '.gitignore': '**/d/a\ne/**/x\nbuild/**\n' }],
    ['** that stands not alone', { '.gitignore': 'a**\nab**/ab\nd/**c/x\n' }],
    ['escapes', { '.gitignore': '\\#a\n\\!a\na\\*\n\\[a\\]\na\\ \n' }],
    ['trailing spaces', { '.gitignore': 'abc   \na \nb\\ \n' }],
    ['a byte is what ? stands for', { '.gitignore': '?\n??a\n' }],
    ['sets', { '.gitignore': '[ab]\ndebug[0-9].log\n[!a-z]\n[[:upper:]]\n[]-]x\n' }],
    ['malformed sets', { '.gitignore': '[ab\n[[:nope:]]\na[\n[]\nabc\\\n' }],
    [
      'line endings of Windows, a mark at the start, no end of line',
      { '.gitignore': '\ufeffa\r\nlog\r\n*.log' },
    ],
    ['comments and blank lines', { '.gitignore': '# a\n\n   \n#a\n' }],
    [
      'files at several levels',
      { '.gitignore': '*.log\n', 'd/.gitignore': '!b.log\n/d\n', 'e/.gitignore': 'd\n' },
    ],
    [
      'the repository exclude, which comes last',
      { '.git/info/exclude': '*.log\nabc\n', 'd/.gitignore': '!abc\n' },
    ],
    ['odd lines', { '.gitignore': '/\n!\n//a\n**\n!*/\n!a\n' }],
    ['a folder whose name begins alike', { '.gitignore': 'd/abc/\nabd/c/\n/e/d/\n' }],
  ];
  for (const [title, rules] of cases) it(`follows git: ${title}`, () => agreesWithGit(rules));

  it('follows git for any lines', async () => {
    const word = fc.constantFrom('a', 'b', 'd', 'ab', 'log', 'e', 'abc', '.', 'é', 'build', '.log', 'c');
    const wild = fc.constantFrom(
      '*',
      '**',
      '?',
      '[a-d]',
      '[!a]',
      '\\a',
      '[[:alpha:]]',
      '**/',
      '/**/',
      '/**',
      '*.log',
    );
    const body = fc
      .array(fc.oneof({ weight: 3, arbitrary: word }, { weight: 2, arbitrary: wild }, fc.constant('/')), {
        minLength: 1,
        maxLength: 5,
      })
      .map((parts) => parts.join(''));
    const line = fc
      .tuple(fc.constantFrom('', '', '!', '/'), body, fc.constantFrom('', '', '/', ' '))
      .map((parts) => parts.join(''));
    const file = fc.array(line, { minLength: 1, maxLength: 5 }).map((lines) => lines.join('\n'));
    await fc.assert(
      fc.asyncProperty(file, file, (root, inner) =>
        agreesWithGit({ '.gitignore': root, 'd/.gitignore': inner }),
      ),
      { numRuns: Number(process.env.HAFT_IGNORE_RUNS ?? 150) },
    );
  });

  it('answers at once for a line made to take long', () => {
    const rules = compileIgnoreRules(`${'*a'.repeat(100)}b\n${'**/a/'.repeat(100)}b\n`);
    assert.equal(rules?.decide('a'.repeat(250), `${'a/'.repeat(1000)}c`, false), undefined);
  });

  it('says nothing where no line does', () => {
    assert.equal(compileIgnoreRules('# only a comment\n\n'), undefined);
    assert.equal(compileIgnoreRules('a\n')?.decide('b', 'b', false), undefined);
  });
});
