// Owns: the proof that artifacts work from the command line: import, list, show, cat, verify and gc, with exit codes.
// Refuses: what the store's own tests show.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NODE_ARGS } from './support/haft.ts';
import { makeWorkspace, type Workspace } from './support/workspace.ts';

describe('haft artifacts', () => {
  let workspace: Workspace;
  let outside: string;
  before(() => {
    workspace = makeWorkspace({
      'haft.yaml': 'version: 1\n',
      'a.txt': 'one\ntwo\n',
      'tree/x': '1',
      'tree/sub/y': '22',
    });
    outside = mkdtempSync(join(tmpdir(), 'haft-outside-'));
  });
  after(() => {
    workspace.remove();
    rmSync(outside, { recursive: true });
  });

  const haft = (args: readonly string[], options: { input?: Uint8Array; cwd?: string } = {}) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...NODE_ARGS, 'artifacts', ...args], {
      cwd: workspace.root,
      encoding: 'buffer',
      maxBuffer: 1e8,
      ...options,
    });
    return { status, out: stdout.toString(), bytes: stdout, err: stderr.toString() };
  };
  const sumOf = (path: string) =>
    `sha256:${spawnSync('sha256sum', [path], { encoding: 'utf8' }).stdout.split(' ')[0]}`;

  it('imports a path, relative to where one is, and prints what sha256sum would', () => {
    const { status, out } = haft(['import', 'a.txt']);
    assert.deepEqual([status, out], [0, `${sumOf(workspace.path('a.txt'))}\n`]);
    const below = haft(['import', 'sub/y', '--json'], { cwd: workspace.path('tree') });
    assert.deepEqual(JSON.parse(below.out), {
      artifact: sumOf(workspace.path('tree/sub/y')),
      kind: 'file',
      size: 2,
      files: 1,
    });
    assert.equal(haft(['cat', out.trim()]).out, 'one\ntwo\n');
    assert.equal(haft(['cat', out.trim(), '--range', '4:7']).out, 'two');
    for (const range of ['5:2', '100:200', '9:']) {
      const refused = haft(['cat', out.trim(), '--range', range]);
      assert.deepEqual([refused.status, refused.out], [2, ''], range);
      assert.match(refused.err, /input\.range/);
    }
  });

  it('imports standard input, byte for byte', () => {
    const bytes = Buffer.alloc(3_000_000, Buffer.from([0, 255, 10, 13, 195]));
    const { status, out } = haft(['import', '-'], { input: bytes });
    assert.equal(status, 0);
    assert.equal(Buffer.compare(haft(['cat', out.trim()]).bytes, bytes), 0);
  });

  it('imports a folder, shows what is in it, and copies it elsewhere', () => {
    const id = haft(['import', 'tree']).out.trim();
    const shown = JSON.parse(haft(['show', id, '--json']).out);
    assert.deepEqual(
      [shown.kind, shown.files, shown.size, shown.entries.map(({ path }: { path: string }) => path)],
      ['tree', 2, 3, ['sub', 'sub/y', 'x']],
    );
    assert.equal(haft(['cat', id, 'sub/y']).out, '22');
    assert.equal(haft(['cat', id, '--to', join(outside, 'copy')]).status, 0);
    assert.equal(readFileSync(join(outside, 'copy/sub/y'), 'utf8'), '22');
    assert.equal(statSync(join(outside, 'copy/x')).mode & 0o777, 0o444);
    const again = haft(['cat', id, '--to', join(outside, 'copy')]);
    assert.match(again.err, /path\.exists/);
    assert.notEqual(haft(['cat', id]).status, 0);
  });

  it('refuses what lies outside of the workspace, and says how to bring it in', () => {
    writeFileSync(join(outside, 'far.txt'), 'far');
    const { status, err } = haft(['import', join(outside, 'far.txt')]);
    assert.equal(status, 3);
    assert.match(err, /path\.outside_workspace/);
    assert.match(err, /import - < FILE/);
  });

  it('lists the newest first', () => {
    const id = haft(['import', '-'], { input: Buffer.from('the newest') }).out.trim();
    const { artifacts } = JSON.parse(haft(['list', '--last', '2', '--json']).out);
    assert.deepEqual([artifacts.length, artifacts[0].artifact], [2, id]);
    assert.match(haft(['list']).out, /^WHEN .*\n.*sha256:/);
  });

  it('names what was damaged, and is content once it was imported again', () => {
    const large = 'x'.repeat(50_000);
    const id = haft(['import', '-'], { input: Buffer.from(large) }).out.trim();
    assert.match(haft(['verify']).out, /^All \d+ artifacts verify\.\n$/);
    const hex = id.slice(7);
    const object = workspace.path(`.haft/objects/sha256/${hex.slice(0, 2)}/${hex}`);
    rmSync(object);
    writeFileSync(object, large.replace('x', 'y'));
    const { status, err } = haft(['verify']);
    assert.equal(status, 70);
    assert.ok(err.includes(`${id} is corrupt`));
    const cat = haft(['cat', id]);
    assert.deepEqual([cat.status, cat.out], [70, '']);
    haft(['import', '-'], { input: Buffer.from(large) });
    assert.equal(haft(['verify', id]).status, 0);
  });

  it('gc keeps what was used lately, says what it would do, and takes times with units only', () => {
    mkdirSync(workspace.path('gc'));
    const before = JSON.parse(haft(['list', '--last', '100', '--json']).out).artifacts.length;
    const report = JSON.parse(haft(['gc', '--unused-for', '1h', '--json']).out);
    assert.deepEqual([report.artifacts, report.removed.objects], [[], 0]);
    assert.ok(report.kept.objects >= before);
    assert.match(haft(['gc', '--dry-run']).out, /^Would remove 0 objects/);
    for (const time of ['30', '0h', 'soon']) assert.equal(haft(['gc', '--unused-for', time]).status, 2);
  });

  it('refuses what is no artifact', () => {
    assert.equal(haft(['show', 'nonsense']).status, 2);
    for (const args of [['show'], ['cat'], ['verify']]) {
      const { status, err } = haft([...args, 'f'.repeat(64)]);
      assert.equal(status, 2, err);
      assert.match(err, /there is no such artifact \[E_VALIDATION_FAIL artifact\.unknown\]/);
    }
  });
});
