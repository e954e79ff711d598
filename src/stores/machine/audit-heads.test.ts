import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sha256Hex } from '../../base/digest.ts';
import type { AuditProgress } from '../../contract/store.ts';
import { openAuditHeads } from './audit-heads.ts';

/** A chain that two branches share up to row `fork`. */
const hashOf = (branch: string, fork: number) => (seq: number) =>
  sha256Hex(`${seq <= fork ? 'trunk' : branch} ${seq}`);
const head = (count: number, branch = 'trunk', fork = 0) => ({ count, hash: hashOf(branch, fork)(count) });

function progress(since: number, count: number, branch = 'trunk', fork = 0): AuditProgress {
  const hash = hashOf(branch, fork);
  return {
    chain: hash(1),
    since: head(since, branch, fork),
    head: head(count, branch, fork),
    hashOf: (seq) => (seq >= 1 && seq <= count ? hash(seq) : undefined),
  };
}

describe('openAuditHeads', () => {
  let folder: string;
  let workspace: string;
  const heads = (at = workspace) =>
    openAuditHeads({ env: { XDG_CONFIG_HOME: join(folder, 'config') }, workspace: at });
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'haft-heads-'));
    workspace = join(folder, 'ws');
    mkdirSync(join(workspace, '.haft'), { recursive: true });
  });
  beforeEach(() => rmSync(join(folder, 'config'), { recursive: true, force: true }));
  after(() => rmSync(folder, { recursive: true }));

  it('keeps the head of a chain as it grows, for its owner alone, and leaves nothing beside it', () => {
    heads().keep(progress(0, 2));
    heads().keep(progress(2, 9));
    assert.deepEqual(heads().read(), { folder: workspace, chain: head(1).hash, head: head(9) });
    const file = heads().file!;
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(file)).mode & 0o777, 0o700);
    assert.equal(readdirSync(dirname(file)).length, 1);
  });

  it('is overwritten in place, whatever is longer or shorter then', () => {
    // The lengths around a block's end, where one digit less is a block less.
    const long = (length: number) => join(folder, 'ü'.repeat(100), 'x'.repeat(length));
    for (const at of [workspace, ...Array.from({ length: 60 }, (_, i) => long(450 + i * 4))]) {
      heads(at).keep(progress(0, 9));
      const { ino, size } = statSync(heads(at).file!);
      heads(at).keep(progress(9, 1_000_000));
      heads(at).keep(progress(4, 5, 'restored', 4));
      const now = statSync(heads(at).file!);
      assert.deepEqual([now.ino, now.size % 1024, now.size >= size], [ino, 0, true]);
      assert.deepEqual(heads(at).read()?.head, head(5, 'restored', 4));
      assert.deepEqual(heads(at).read()?.lost, head(1_000_000));
    }
  });

  it('keeps the furthest of those that several processes tell', () => {
    heads().keep(progress(0, 9));
    heads().keep({ ...progress(3, 12), head: head(5) });
    assert.deepEqual(heads().read()?.head, head(9));
  });

  it('keeps what it saw when the chain is another: emptied, or begun anew', () => {
    heads().keep(progress(0, 9));
    for (const count of [1, 9, 20]) heads().keep(progress(0, count, 'another'));
    assert.deepEqual(heads().read()?.head, head(9));
  });

  it('keeps what it saw when the past was written over', () => {
    heads().keep(progress(0, 9));
    heads().keep(progress(9, 10, 'forged', 4));
    heads().keep(progress(20, 30, 'forged', 4));
    assert.deepEqual(heads().read(), { folder: workspace, chain: head(1).hash, head: head(9) });
  });

  for (const [title, since, count] of [
    ['a few rows', 4, 6],
    ['one row, and as many are appended at once', 8, 10],
    ['rows that grow beyond it at once', 4, 40],
  ] as const)
    it(`goes on from a chain that lacks ${title}, and remembers which were lost`, () => {
      heads().keep(progress(0, 9));
      heads().keep(progress(since, count, 'restored', since));
      const known = heads().read();
      assert.deepEqual([known?.head, known?.lost], [head(count, 'restored', since), head(9)]);
      // From then on it is the chain that counts; a smaller loss does not hide the larger one.
      heads().keep(progress(count, count + 5, 'restored', since));
      assert.deepEqual(heads().read()?.head, head(count + 5, 'restored', since));
      assert.deepEqual(heads().read()?.lost, head(9));
    });

  it('is what a person accepts', () => {
    heads().keep(progress(0, 9));
    heads().accept({ chain: head(1, 'another').hash, head: head(2, 'another') });
    heads().keep(progress(2, 3, 'another'));
    assert.deepEqual(heads().read()?.head, head(3, 'another'));
    heads().accept(undefined);
    assert.equal(heads().read(), undefined);
  });

  it('knows a chain whose workspace is no longer where it was, and one that was copied is not such', () => {
    const gone = join(folder, 'gone');
    mkdirSync(join(gone, '.haft'), { recursive: true });
    heads(gone).keep(progress(0, 9));
    assert.deepEqual(heads().movedFrom(head(1).hash), []);
    rmSync(gone, { recursive: true });
    assert.deepEqual(
      heads()
        .movedFrom(head(1).hash)
        .map((one) => one.folder),
      [gone],
    );
    assert.deepEqual(heads().movedFrom(head(1, 'another').hash), []);
    heads().accept({ chain: head(1).hash, head: head(9) });
    assert.deepEqual(heads().movedFrom(head(1).hash), []);
  });

  it('takes no record that is damaged, of another folder, or that others can write', () => {
    heads().keep(progress(0, 9));
    const file = heads().file!;
    chmodSync(file, 0o666);
    assert.equal(heads().read(), undefined);
    chmodSync(file, 0o600);
    const good = { folder: workspace, chain: head(1).hash, head: head(9) };
    for (const bad of [
      ...['', '{', '[]', 'null', '{}', JSON.stringify({ ...good, folder: '/other' })],
      JSON.stringify({ ...good, head: { count: -1, hash: head(9).hash } }),
      JSON.stringify({ ...good, lost: { count: 1 } }),
      JSON.stringify({ begin: 8, ...good, end: 9 }),
      `${JSON.stringify(good)}${' '.repeat(70_000)}`,
    ]) {
      writeFileSync(file, bad);
      assert.equal(heads().read(), undefined, bad.slice(0, 80));
    }
    heads().keep(progress(0, 3));
    assert.deepEqual(heads().read()?.head, head(3));
  });

  it('keeps nothing where there is no folder outside of the workspace', () => {
    for (const env of [{}, { HOME: '' }, { XDG_CONFIG_HOME: join(workspace, 'config') }]) {
      const none = openAuditHeads({ env, workspace });
      none.keep(progress(0, 3));
      assert.deepEqual([none.file, none.read(), none.movedFrom(head(1).hash)], [undefined, undefined, []]);
    }
    assert.deepEqual(readdirSync(workspace), ['.haft']);
  });
});
