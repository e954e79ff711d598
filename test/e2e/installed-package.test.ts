// Owns: the package as users get it: packed, installed into an empty folder and an empty prefix, compiled against and run.
// Not here: what the files of the package link to (test/package.test.ts).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { builtCommand } from '../support/built-command.ts';

const ROOT = join(import.meta.dirname, '../..');
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
const { version, files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** The node of this test is the one that commands find. */
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;

let temp: string;
let project: string;
let tarball: string;

before(() => {
  temp = mkdtempSync(join(tmpdir(), 'haft-package-'));
  tarball = pack();
  project = join(temp, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name":"user","version":"1.0.0","type":"module"}\n');
  writeFileSync(join(project, 'notes.txt'), 'one\n');
  cpSync(join(import.meta.dirname, 'support/package-user/main.ts'), join(project, 'main.ts'));
  run('npm', ['install', ...QUIET, tarball]);
});
after(() => rmSync(temp, { recursive: true, force: true }));

/** `npm pack` of a copy, so that the build of the tests is in it and the developer's dist/ is left alone. */
function pack(): string {
  const copy = join(temp, 'copy');
  for (const name of ['package.json', ...(files as string[])]) {
    const from = name === 'dist' ? dirname(dirname(builtCommand())) : join(ROOT, name);
    cpSync(from, join(copy, name), { recursive: true });
  }
  run('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', temp], copy);
  return join(temp, readdirSync(temp).find((name) => name.endsWith('.tgz'))!);
}

function run(program: string, args: readonly string[], cwd = project, path = PATH): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      PATH: path,
      XDG_CONFIG_HOME: join(temp, 'config'),
      XDG_CACHE_HOME: join(temp, 'cache'),
    },
  });
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** Node's types are not there, nor, in the first, those of the DOM; and the package's own are checked. */
const COMPILERS = {
  nodenext: { module: 'nodenext', lib: ['es2022'] },
  bundler: { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'] },
};

describe('the installed package', () => {
  it('says where it comes from, and has its docs', () => {
    const folder = join(project, 'node_modules/haft');
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    assert.equal(manifest.repository.type, 'git');
    for (const name of ['README.md', 'SECURITY.md', 'docs/architecture.md', 'docs/reference/haft-yaml.md'])
      assert.ok(readFileSync(join(folder, name), 'utf8').length > 500, name);
  });

  for (const [name, compiler] of Object.entries(COMPILERS))
    it(`has types that hold in a strict program, with ${name} and lib ${compiler.lib.join(', ')}`, () => {
      const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
      const compilerOptions = { ...strict, ...compiler, target: 'es2022', types: [], noEmit: true };
      const config = { compilerOptions, files: ['main.ts'] };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
      assert.equal(run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.']), '');
    });

  it('runs such a program', () => {
    const out = run(process.execPath, ['--disable-warning=ExperimentalWarning', 'main.ts']);
    const { content, names, line, id, refused } = JSON.parse(out);
    assert.deepEqual([content, line, id], ['one\n', 1, undefined]);
    assert.ok(names.includes('notes.txt'));
    assert.deepEqual(refused, ['input.schema', 'input.schema', 'tool.unknown', 'tool.unknown']);
  });

  it('runs the program of the README', () => {
    const [, code = ''] =
      /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
    writeFileSync(join(project, 'readme.ts'), code);
    const manifest = readFileSync(join(project, 'package.json'), 'utf8');
    assert.equal(run(process.execPath, ['readme.ts']), `${manifest}\n`);
  });

  it('is a command of that project for npx', () => {
    assert.equal(run('npx', ['--no-install', 'haft', '--version']), `haft ${version}\n`);
    assert.match(run('npx', ['--no-install', 'haft', 'call', 'file_read', '{"path":"notes.txt"}']), /one/);
  });

  it('is a command for everybody once it is installed into a prefix', () => {
    const prefix = join(temp, 'prefix');
    run('npm', ['install', '--global', '--prefix', prefix, ...QUIET, tarball], temp);
    const folder = join(temp, 'empty');
    mkdirSync(folder);
    const haft = (...args: string[]) => run('haft', args, folder, `${join(prefix, 'bin')}:${PATH}`);
    assert.equal(haft('--version'), `haft ${version}\n`);
    assert.match(haft('init'), /haft\.yaml/);
    assert.match(haft('call', 'fs_list', '{}', '--json'), /"ok":true/);
    assert.match(haft('call', 'shell_exec', '{"cmd":"echo installed"}', '--json'), /installed/);
  });
});
