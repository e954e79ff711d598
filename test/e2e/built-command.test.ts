// Owns: the command as it is installed: the same answers as from the sources, and compiled code kept between starts.
// Refuses: to measure; bench/subjects/cold-start.ts does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { builtCommand } from '../support/built-command.ts';
import type { Ran } from './support/haft.ts';

const SOURCE = join(import.meta.dirname, '../../src/bin/haft.ts');
const READ = ['call', 'file_read', '{"path":"notes – ü.txt"}', '--json'];

/** Each test has a home of its own for what is kept. */
let homes = 0;
const newHome = () => join(temp, `home-${++homes}`);

let temp: string;
let workspace: string;
let bin: string;

before(() => {
  temp = fs.mkdtempSync(join(tmpdir(), 'haft-built-'));
  workspace = join(temp, 'a workspace');
  fs.mkdirSync(workspace);
  fs.writeFileSync(join(workspace, 'notes – ü.txt'), 'one\r\ntwo\n');
  bin = builtCommand();
  assert.equal(built(['init']).status, 0);
});
after(() => fs.rmSync(temp, { recursive: true, force: true }));

function built(args: readonly string[], home = newHome(), env: Readonly<Record<string, string>> = {}): Ran {
  const { HOME: _, ...inherited } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    cwd: workspace,
    env: { ...inherited, XDG_CACHE_HOME: home, XDG_CONFIG_HOME: join(temp, 'config'), ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

function fromSource(args: readonly string[]): Ran {
  const quiet = '--disable-warning=ExperimentalWarning';
  const env = { ...process.env, XDG_CONFIG_HOME: join(temp, 'config') };
  return spawnSync(process.execPath, [quiet, SOURCE, ...args], { cwd: workspace, env, encoding: 'utf8' });
}

function read(home: string): void {
  const { status, stdout, stderr } = built(READ, home);
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  assert.equal(JSON.parse(stdout).data.content, 'one\r\ntwo\n');
}

/** The files that are kept, with what tells whether one was written anew. */
function kept(home: string): Map<string, number> {
  const all = join(home, 'haft');
  if (!fs.existsSync(all)) return new Map();
  const files = fs.readdirSync(all, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, fs.statSync(path).ino];
    }),
  );
}

const fileOf = (home: string, name: string): string =>
  [...kept(home).keys()].find((path) => path.endsWith(`/call/${name}`))!;

describe('the built command', () => {
  const SAME: readonly (readonly string[])[] = [
    ['--version'],
    ['--help'],
    ['call', '--help'],
    ['call', 'fs_list', '{}', '--json'],
    ['call', 'no_such_tool', '{}', '--json'],
    ['tools', 'list', '--json'],
    ['tools', 'show', 'grep'],
    ['policy', 'check', '--json'],
    ['policy', 'explain', 'file_read', '{"path":"../x"}', '--json'],
    ['completion', 'bash'],
    ['nonsense'],
  ];
  const timeless = (text: string) =>
    text
      .replace(/"(request_id|call_id)":"[^"]*"/g, '"$1":""')
      .replace(/"duration_ms":[\d.]+/g, '"duration_ms":0');
  for (const args of SAME) {
    it(`answers "${args.join(' ')}" as the sources do`, () => {
      const source = fromSource(args);
      const own = built(args);
      assert.equal(own.status, source.status);
      assert.equal(timeless(own.stdout), timeless(source.stdout));
      assert.equal(own.stderr, source.stderr);
    });
  }

  it('serves MCP', () => {
    const lines = [
      { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } },
      { id: 2, method: 'tools/call', params: { name: 'fs_list', arguments: { glob: '*.txt' } } },
    ].map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const { status, stdout } = spawnSync(process.execPath, [bin, 'mcp'], {
      cwd: workspace,
      env: { ...process.env, XDG_CACHE_HOME: newHome(), XDG_CONFIG_HOME: join(temp, 'config') },
      input: lines.join(''),
      encoding: 'utf8',
    });
    assert.equal(status, 0);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(answers.find(({ id }) => id === 2).result.content[0].text, 'notes – ü.txt');
  });
});

describe('compiled code', () => {
  it('is kept by the first start and used by the next', () => {
    const home = newHome();
    read(home);
    const first = kept(home);
    assert.deepEqual([...first.keys()].map((path) => path.split('/').slice(-2).join('/')).sort(), [
      'call/bin-main.cjs',
      'call/checks-file-read.cjs',
    ]);
    read(home);
    assert.deepEqual(kept(home), first);
  });

  it('can only be read and written by its user', () => {
    const home = newHome();
    read(home);
    for (const path of kept(home).keys()) assert.equal(fs.statSync(path).mode & 0o777, 0o600);
    assert.equal(fs.statSync(join(home, 'haft')).mode & 0o077, 0);
  });

  const DAMAGES: readonly (readonly [string, (path: string, bytes: Buffer) => void])[] = [
    ['is empty', (path) => fs.writeFileSync(path, '')],
    ['is cut off', (path, bytes) => fs.truncateSync(path, bytes.length >> 1)],
    ['is of zeros', (path, bytes) => fs.writeFileSync(path, Buffer.alloc(bytes.length))],
    ['is of something else', (path) => fs.writeFileSync(path, 'module.exports = 1;')],
    ['others could have written', (path) => fs.chmodSync(path, 0o620)],
  ];
  for (const [what, damage] of DAMAGES) {
    it(`that ${what} is not used, and replaced`, () => {
      const home = newHome();
      read(home);
      const path = fileOf(home, 'bin-main.cjs');
      const whole = fs.readFileSync(path);
      damage(path, whole);
      const { ino } = fs.statSync(path);
      read(home);
      assert.notEqual(fs.statSync(path).ino, ino);
      assert.ok(fs.statSync(path).size > whole.length / 2);
    });
  }

  it('is not kept by a command that failed', () => {
    const home = newHome();
    assert.notEqual(built(['call', 'file_read', '{"path":"../outside"}'], home).status, 0);
    assert.deepEqual(kept(home), new Map());
  });

  it('is not needed', () => {
    const file = join(temp, 'not-a-folder');
    fs.writeFileSync(file, '');
    read(file);
    const { status, stderr } = built(READ, '');
    assert.equal(status, 0);
    assert.equal(stderr, '');
  });

  it('of builds that nobody starts any more goes away', () => {
    const home = newHome();
    const [old, recent] = ['0123456789abcdef', 'fedcba9876543210'].map((id) => join(home, 'haft', id));
    for (const folder of [old!, recent!]) fs.mkdirSync(join(folder, 'call'), { recursive: true });
    const longAgo = Date.now() / 1000 - 31 * 24 * 3600;
    fs.utimesSync(old!, longAgo, longAgo);
    read(home);
    assert.equal(fs.existsSync(old!), false);
    assert.equal(fs.existsSync(recent!), true);
  });
});
