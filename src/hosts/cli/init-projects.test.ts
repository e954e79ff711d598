import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { describePolicy, renderPolicy } from './init-policy.ts';
import { findProjects, PROJECT_KINDS } from './init-projects.ts';

function inFolder(files: Readonly<Record<string, string>>, work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'haft-init-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const namesIn = (folder: string) => findProjects(folder).kinds.map(({ kind }) => kind.name);

describe('findProjects', () => {
  const FOLDERS: readonly (readonly [files: readonly string[], names: readonly string[]])[] = [
    [[], []],
    [['package.json'], ['Node.js']],
    [
      ['package.json', 'pnpm-lock.yaml'],
      ['Node.js', 'pnpm'],
    ],
    [
      ['pyproject.toml', 'uv.lock', 'tox.ini'],
      ['Python', 'uv', 'tox'],
    ],
    [
      ['go.mod', 'Makefile'],
      ['Go', 'make'],
    ],
    [['App.sln', 'src/App.csproj'], ['.NET']],
    [
      ['packages/a/package.json', 'crates/b/Cargo.toml'],
      ['Node.js', 'Rust'],
    ],
    [['a/b/c/go.mod'], ['Go']],
    [['a/b/c/d/go.mod', 'node_modules/x/Cargo.toml', '.hidden/go.mod', 'vendor/y/composer.json'], []],
  ];
  for (const [files, names] of FOLDERS)
    it(`finds ${names.join(', ') || 'nothing'} in ${files.join(', ') || 'an empty folder'}`, () =>
      inFolder(Object.fromEntries(files.map((file) => [file, ''])), (folder) => {
        assert.deepEqual(namesIn(folder), names);
      }));

  it('follows no link, waits for no pipe, and looks at a bounded number of folders', () =>
    inFolder({ 'go.mod': '' }, (folder) => {
      symlinkSync('/', join(folder, 'all'));
      symlinkSync(folder, join(folder, 'again'));
      execFileSync('mkfifo', [join(folder, 'package.json')]);
      for (let at = 0; at < 1100; at++) mkdirSync(join(folder, `f${String(at).padStart(4, '0')}`));
      writeFileSync(join(folder, 'f1099', 'Cargo.toml'), '');
      assert.deepEqual(namesIn(folder), ['Node.js', 'Go']);
      const { scripts, isPartial } = findProjects(folder);
      assert.deepEqual([scripts, isPartial], [{ names: [], all: 0 }, true]);
    }));

  it('names scripts that are words, counts the others, and reads no package.json of many megabytes', () => {
    const scripts = { build: 'x', 'test:unit': 'x', '$(touch pwned)': 'x', 'a\u001b[31m': 'x', "'; rm": 'x' };
    inFolder({ 'package.json': JSON.stringify({ scripts }) }, (folder) => {
      const found = findProjects(folder);
      assert.deepEqual(found.scripts, { names: ['build', 'test:unit'], all: 5 });
      assert.match(describePolicy(found, 'usual'), /scripts: build, test:unit, … \(5 in all\)/);
      assert.doesNotMatch(renderPolicy(found.kinds), /touch|; rm|test:unit|\u001b/);
    });
    const large = JSON.stringify({ scripts: { build: 'x'.repeat(2_000_000) } });
    inFolder({ 'package.json': large }, (folder) =>
      assert.deepEqual(findProjects(folder).scripts, { names: [], all: 0 }),
    );
  });

  it('makes the same policy whatever folders are called', () =>
    inFolder({ 'a\nb"\': {}/go.mod': '', 'x/go.mod': '' }, (folder) => {
      const found = findProjects(folder);
      const go = PROJECT_KINDS.find(({ id }) => id === 'go')!;
      assert.equal(renderPolicy(found.kinds), renderPolicy([{ kind: go, folders: ['any'] }]));
      assert.match(describePolicy(found, 'usual'), /Go in x, … \(2 in all\): go, gofmt/);
    }));
});

describe('renderPolicy', () => {
  const kinds = PROJECT_KINDS.map((kind) => ({ kind, folders: ['', 'below'] }));
  it('allows no shell that is more than the name of a program', () => {
    const text = renderPolicy(kinds);
    const patterns = [...text.matchAll(/^ {2}- '(.*)'$/gm)].map(([, pattern = '']) => new RegExp(pattern));
    assert.ok(patterns.length > 40);
    const DANGEROUS = [
      'rm -rf /',
      'sudo ls',
      'sh -c x',
      'bash',
      'curl x',
      'wget x',
      'git push',
      'ssh x',
      'chmod 777 .',
    ];
    for (const cmd of DANGEROUS) assert.ok(!patterns.some((one) => one.test(cmd)), cmd);
  });
});
